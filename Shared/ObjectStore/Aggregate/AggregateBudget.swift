import ParseProtocol

/// The budget of one aggregate. A pipeline can multiply documents without end; every stage that keeps or makes values
/// asks here.
final class AggregateBudget {
    /// Bytes kept at one time, 64 MiB: some hundred thousand small groups, and well within what a service may grow by.
    static let keptBytesMax = 67_108_864
    /// Bytes of one document between stages, 16 MiB, as in the database that pipelines come from.
    static let documentBytesMax = 16_777_216
    /// Bytes that a value takes besides its text.
    private static let valueBytes = 48
    /// Steps between two looks at the clock.
    private static let stepsPerLook = 64

    private let limit: TimeLimit
    private var steps = 0
    private var kept = 0

    /// - Parameter limit: that of the reader, which the pipeline's own work counts for as well.
    init(_ limit: TimeLimit) { self.limit = limit }

    /// Counts a document that a stage looks at.
    /// - Throws: `.timeout` (124) when the time is over.
    func step() throws {
        steps += 1
        if steps % AggregateBudget.stepsPerLook == 0 { try limit.check() }
    }

    /// Counts a value that stays in memory, in place of another.
    /// - Throws: `.inefficientQuery` (154) when there are too many.
    func keep(_ value: JSON, insteadOf old: JSON? = nil) throws {
        if let old { kept -= AggregateBudget.bytes(of: old, upTo: AggregateBudget.documentBytesMax) }
        kept += AggregateBudget.bytes(of: value, upTo: AggregateBudget.documentBytesMax)
        guard kept <= AggregateBudget.keptBytesMax else {
            throw ParseError(
                .inefficientQuery,
                "The pipeline keeps more than \(AggregateBudget.keptBytesMax >> 20) MiB; match or project less.")
        }
    }

    /// - Throws: `.inefficientQuery` (154) for a document that a stage made too large or too deep.
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

    /// An estimate that stops at `limit`: parts that a pipeline doubles share their memory, so that looking at all of a
    /// value could take longer than making it. What is nested too deeply to be read again counts as too large.
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
