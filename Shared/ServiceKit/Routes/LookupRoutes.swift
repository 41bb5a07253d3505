import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The kind that answers what a filter of another class needs (Shared/Messages/Protos/lookups.proto).
extension ServiceRoutes {
    /// Look-ups in one message: as many as a client's query may have sub-queries.
    private static let lookupsMax = 20
    /// Members of a relation, which become a list in another query.
    private static let membersMax = 10_000
    /// Bytes of all answers together, as in one find.
    private static let answerBytesMax = 32 << 20

    mutating func installLookups(for caller: @escaping @Sendable (Principal, _ className: String) -> Caller) {
        read(framed: ObjectCalls(of: host.plan.name).lookup) { message, request, reader in
            guard message.lookups.count <= Self.lookupsMax else {
                throw ParseError(.invalidQuery, "At most \(Self.lookupsMax) sub-queries are possible.")
            }
            let principal = request.envelope.principal
            var answers: [[UInt8]] = []
            var bytes = 0
            for lookup in message.lookups {
                let answer: [UInt8]
                switch lookup.wanted {
                case .find(let find):
                    answer = try reader.find(Query(find), caller: caller(principal, find.className)).body
                case .members(let wanted):
                    let ids = try reader.members(
                        of: wanted.className, wanted.objectID, wanted.key, target: wanted.targetClass,
                        max: Self.membersMax, caller: caller(principal, wanted.className))
                    answer = JSON.array(ids.map(JSON.string)).serialized
                case nil: throw ParseError(.invalidQuery, "A look-up must say what it wants.")
                }
                bytes += answer.count
                guard bytes <= Self.answerBytesMax else {
                    throw ParseError(.invalidQuery, "The sub-queries bring too much; use smaller limits.")
                }
                answers.append(answer)
            }
            return try BusReply(LookupReply(), documents: answers)
        }
    }
}
