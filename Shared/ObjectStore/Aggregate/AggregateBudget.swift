import ParseProtocol

/// The budget of one aggregate. A pipeline can multiply documents without end, so every stage that stores or creates
/// values charges them here.
final class AggregateBudget {
    /// Limit of bytes kept at one time, 64 MiB: several hundred thousand small groups, and well within the memory that
    /// a service may use.
    static let keptBytesMax = 67_108_864
    /// Limit of one document's bytes between stages, 16 MiB, as in MongoDB.
    static let documentBytesMax = 16_777_216
    /// Bytes of a value in addition to its text.
    private static let valueBytes = 48
    /// Steps between two checks of the time limit.
    private static let stepsPerLook = 64

    private let limit: TimeLimit
    private var steps = 0
    private var kept = 0

    /// - Parameter limit: the reader's time limit; the pipeline's own work counts towards it too.
    init(_ limit: TimeLimit) { self.limit = limit }

    /// Counts a document that a stage processes.
    /// - Throws: `.timeout` (124) when the time is over.
    func step() throws {
        steps += 1
        if steps % AggregateBudget.stepsPerLook == 0 { try limit.check() }
    }

    /// Runs a decision that the time limit may interrupt.
    /// - Throws: errors of `decide`; the limit's error for `WorkInterrupted`.
    func decided(_ decide: (TimeLimit) throws -> Bool) throws -> Bool {
        do {
            return try decide(limit)
        } catch is WorkInterrupted {
            throw limit.error
        }
    }

    /// Counts a value that stays in memory, in place of another.
    /// - Throws: `.inefficientQuery` (154) when the kept values exceed the limit.
    func keep(_ value: JSON, insteadOf old: JSON? = nil) throws {
        if let old { kept -= AggregateBudget.bytes(of: old, upTo: AggregateBudget.documentBytesMax) }
        kept += AggregateBudget.bytes(of: value, upTo: AggregateBudget.documentBytesMax)
        guard kept <= AggregateBudget.keptBytesMax else {
            throw ParseError(
                .inefficientQuery,
                "The pipeline needs more than \(AggregateBudget.keptBytesMax >> 20) MiB; match or project less.")
        }
    }

    /// - Throws: `.inefficientQuery` (154) when a stage's document is too large or too deep.
    func check(_ document: JSON) throws {
        let limit = AggregateBudget.documentBytesMax
        guard AggregateBudget.bytes(of: document, upTo: limit) < limit else {
            throw ParseError(
                .inefficientQuery,
                """
                A document between stages is larger than \(limit >> 20) MiB or nested deeper than \(JSON.depthMax) \
                levels.
                """
            )
        }
    }

    /// An estimate that stops at `limit`. Parts that a pipeline duplicates share their memory, so measuring the whole
    /// value could take longer than creating it. A value that is nested too deeply to be parsed again counts as too
    /// large.
    private static func bytes(of value: JSON, upTo limit: Int, depth: Int = 0) -> Int {
        guard depth <= JSON.depthMax else { return limit }
        var total = valueBytes
        switch value {
        case .string(let text): total += text.utf8.count
        case .array(let elements):
            for element in elements where total < limit {
                total += bytes(of: element, upTo: limit - total, depth: depth + 1)
            }
        case .object(let members):
            for (name, member) in members where total < limit {
                total += name.utf8.count + bytes(of: member, upTo: limit - total, depth: depth + 1)
            }
        default: break
        }
        return total
    }
}
