import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A request that may be answered on its connection's event loop, until it is complete.
struct HeldRequest {
    var head: HTTPRequest
    /// The moment at which its head was there.
    let start: ContinuousClock.Instant
    private(set) var body: HeldBody

    /// - Parameter bodyBytes: as `HTTPFront.directBodyBytes` says.
    init(_ head: HTTPRequest, bodyBytes: Int) {
        self.head = head
        start = .now
        body = HeldBody(count: bodyBytes)
    }

    /// Takes the next part of it. One that makes it unfit is not among `parts`.
    mutating func add(_ part: HTTPRequestPart) -> HeldBody.Step {
        switch part {
        case .head: .unfit
        case .body(let buffer): body.add(buffer.readableBytesView)
        case .end(let trailers): body.ended(hasTrailers: trailers != nil)
        }
    }

    /// What came of it so far, without its end.
    var parts: [HTTPRequestPart] {
        body.bytes.isEmpty ? [.head(head)] : [.head(head), .body(ByteBuffer(bytes: body.bytes))]
    }
}
