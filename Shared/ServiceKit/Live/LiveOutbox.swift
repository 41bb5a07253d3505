import Messages
import ObjectStore
import ParseProtocol

/// The pending notices for a gateway, in order. Pure.
struct LiveOutbox {
    private struct Entry {
        let number: UInt64
        /// All notices of changes up to this position are in this entry or before it.
        let through: UInt64
        let notice: LiveNotice
        let object: [UInt8]?
        let original: [UInt8]?

        var bytes: Int {
            128 + 8 * notice.subscriptions.count + (object?.count ?? 0) + (original?.count ?? 0)
                + notice.hidden.reduce(0) { $0 + $1.utf8.count + 2 }
        }
    }

    /// Limit of the backlog in bytes. Beyond it the gateway's subscriptions end.
    static let bytesMax = 64 << 20
    /// Limits of one reply, because it shares the bus with all other traffic.
    private static let answerBytesMax = 1 << 20
    private static let answerDocumentsMax = 2000

    private var entries: [Entry] = []
    private var bytes = 0
    private(set) var last: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }
    var isOverfull: Bool { bytes > Self.bytesMax }
    var isCrowded: Bool { bytes > Self.bytesMax / 8 }

    mutating func add(
        _ notice: LiveNotice, object: [UInt8]? = nil, original: [UInt8]? = nil, through position: UInt64
    ) {
        last += 1
        let entry = Entry(number: last, through: position, notice: notice, object: object, original: original)
        entries.append(entry)
        bytes += entry.bytes
    }

    /// Removes the entries up to the number that the gateway has received.
    mutating func taken(_ number: UInt64) {
        let count = entries.prefix { $0.number <= number }.count
        bytes -= entries.prefix(count).reduce(0) { $0 + $1.bytes }
        entries.removeFirst(count)
    }

    mutating func removeAll() {
        entries = []
        bytes = 0
    }

    /// The first entries, as many as fit into one reply.
    func news(feed: UInt64, position: UInt64) -> (news: LiveNews, documents: [[UInt8]]) {
        var news = LiveNews.with {
            $0.feed = feed
            $0.sent = last
            $0.position = position
        }
        var documents: [[UInt8]] = []
        var numbers: [[UInt8]: UInt32] = [:]
        var bytes = 0
        func number(_ document: [UInt8]?) -> UInt32 {
            guard let document else { return 0 }
            if let known = numbers[document] { return known }
            documents.append(document)
            numbers[document] = UInt32(documents.count)
            return UInt32(documents.count)
        }
        for entry in entries {
            guard news.notices.isEmpty || bytes < Self.answerBytesMax && documents.count < Self.answerDocumentsMax
            else { return (news, documents) }
            var notice = entry.notice
            notice.object = number(entry.object)
            notice.original = number(entry.original)
            news.notices.append(notice)
            news.sent = entry.number
            news.position = entry.through
            bytes += entry.bytes
        }
        news.position = position
        return (news, documents)
    }
}

extension LiveNotice.Kind {
    init(_ kind: LiveEvent.Kind) {
        switch kind {
        case .create: self = .create
        case .enter: self = .enter
        case .update: self = .update
        case .leave: self = .leave
        case .delete: self = .delete
        }
    }
}
