import Messages
import NIOCore
import ParseProtocol

/// The texts for clients.
enum LiveText {
    /// The common members of one connection's texts.
    struct Client: Sendable {
        /// `,"clientId":"…","installationId":"…"`
        fileprivate let members: String

        init(clientId: String, installationId: String?) {
            let id = #","clientId":"\#(clientId)""#
            members = installationId.map { id + #","installationId":"# + JSON.string($0).serializedText } ?? id
        }
    }

    static func connected(_ client: Client) -> ByteBuffer {
        ByteBuffer(string: #"{"op":"connected"\#(client.members)}"#)
    }

    static func unsubscribed(_ requestId: Int64, _ client: Client) -> ByteBuffer {
        ByteBuffer(string: #"{"op":"unsubscribed"\#(client.members),"requestId":\#(requestId)}"#)
    }

    /// - Parameter missed: the service no longer has the events after the client's cursor.
    static func subscribed(_ requestId: Int64, _ cursor: LiveCursor, missed: Bool, _ client: Client) -> ByteBuffer {
        let head = #"{"op":"subscribed"\#(client.members),"requestId":\#(requestId),"cursor":"\#(cursor.text)""#
        return ByteBuffer(string: head + (missed ? #","missed":true}"# : "}"))
    }

    /// Bytes of the names of an event's members and of their short values.
    private static let shortMembersMax = 160

    /// Built once per receiver of an event, from parts that are prepared once for all.
    static func event(_ event: LiveDelivery, _ requestId: Int64, _ client: Client) -> ByteBuffer {
        var text = ByteBuffer()
        text.reserveCapacity(
            LiveFrame.headMax + shortMembersMax + client.members.utf8.count + event.object.count
                + (event.original?.count ?? 0))
        // The frame's head goes in front, so that a frame is one piece of memory and one write.
        LiveFrame.leaveRoom(in: &text)
        text.writeStaticString(#"{"op":""#)
        text.writeString(event.kind.name)
        text.writeStaticString("\"")
        text.writeString(client.members)
        text.writeStaticString(#","requestId":"#)
        text.writeString(String(requestId))
        text.writeStaticString(#","cursor":""#)
        text.writeString(event.cursorText)
        text.writeStaticString(#"","object":"#)
        text.writeBytes(event.object)
        if let original = event.original {
            text.writeStaticString(#","original":"#)
            text.writeBytes(original)
        }
        text.writeStaticString("}")
        return text
    }

    /// Includes every member, because SDKs require each.
    static func problem(_ problem: LiveProblem) -> ByteBuffer {
        let json: JSON = [
            "op": "error", "code": .int(Int64(problem.code)), "error": .string(problem.message),
            "reconnect": .bool(problem.reconnects), "requestId": problem.requestId.map { .int($0) } ?? .null,
        ]
        return ByteBuffer(bytes: json.serialized)
    }
}

/// One event, shared by all connections that get it. A class, so that a thousand receivers hold one reference each.
package final class LiveDelivery: Sendable {
    package let kind: LiveNotice.Kind
    package let cursor: LiveCursor
    /// `cursor` as text for clients.
    let cursorText: String
    package let object: [UInt8]
    package let original: [UInt8]?
    /// Fields that the class may hide from the receivers. Cloud code must not add any of them.
    package let hidden: [String]
    /// The memory that the event takes while it waits for a client, overhead included.
    package var bytes: Int { 128 + object.count + (original?.count ?? 0) }

    package init(
        kind: LiveNotice.Kind, cursor: LiveCursor, object: [UInt8], original: [UInt8]?, hidden: [String] = []
    ) {
        self.kind = kind
        self.cursor = cursor
        cursorText = cursor.text
        self.object = object
        self.original = original
        self.hidden = hidden
    }
}

extension LiveNotice.Kind {
    /// The name in the protocol.
    var name: String {
        switch self {
        case .create: "create"
        case .enter: "enter"
        case .update: "update"
        case .leave: "leave"
        case .delete: "delete"
        case .unknown, .ended, .UNRECOGNIZED: "error"
        }
    }
}
