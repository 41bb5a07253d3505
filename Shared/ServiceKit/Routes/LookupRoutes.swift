import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The route that evaluates sub-queries and relations for a filter of another class
/// (Shared/Messages/Protos/lookups.proto).
extension ServiceRoutes {
    /// Limit of look-ups per message, equal to the limit of sub-queries in a client's query.
    private static let lookupsMax = 20
    /// Limit of a relation's members, which become a list in another query.
    private static let membersMax = 10_000
    /// Limit of bytes of all replies together, as for one find.
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
                case nil: throw ParseError(.invalidQuery, "A look-up must be a find or a list of members.")
                }
                bytes += answer.count
                guard bytes <= Self.answerBytesMax else {
                    throw ParseError(.invalidQuery, "The results of the sub-queries are too large; use smaller limits.")
                }
                answers.append(answer)
            }
            return try BusReply(LookupReply(), documents: answers)
        }
    }
}
