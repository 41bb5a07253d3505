import Messages
import ParseProtocol
import ProcessKit

/// The past of the suite's figures, which analytics keeps.
extension OperationsController {
    private static let analytics = ObjectCalls(of: "analytics").function
    /// A stopping gateway waits for it.
    private static let keepTimeout = Duration.seconds(5)

    /// The last `hours` (24 at most) by minute, or the last `days` (30 at most) by hour, of all gateways together.
    /// Minutes without figures are missing.
    func history(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let options = try request.options().filter { ["hours", "days"].contains($0.key) }
        let reply = try await services.read(
            Self.analytics, FunctionRequest.with { $0.name = FigureRow.pastFunction },
            documents: [JSON.object(options).serialized], for: .ofHooks, in: request.call)
        var answer = try JSON(reply: try reply.document, in: request.call)
        answer["points"] = .array((answer["points"]?.arrayValue ?? []).compactMap(Self.point))
        return ParseResponse(answer)
    }

    /// Stores the figures of a minute.
    func keep(_ row: FigureRow, of gateway: String) async throws(ParseError) {
        var parameters = row.json
        parameters["gateway"] = .string(gateway)
        _ = try await services.write(
            Self.analytics, FunctionRequest.with { $0.name = FigureRow.keepFunction },
            documents: [parameters.serialized], for: .ofHooks, in: CallContext(), timeout: Self.keepTimeout)
    }

    private static func point(_ kept: JSON) -> JSON? {
        guard let at = kept["at"], let figures = kept["figures"], let row = FigureRow(figures) else { return nil }
        var point: [String: JSON] = [
            "at": at, "requests": .int(row.requests), "p50": percentile(0.5, of: row), "p99": percentile(0.99, of: row),
        ]
        for figure in SuiteFigure.allCases where figure != .servicesMemory {
            point[figure.rawValue] = .int(row.values[figure] ?? 0)
        }
        point["memory"] = .int((row.values[.memory] ?? 0) + (row.values[.servicesMemory] ?? 0))
        return .object(point)
    }

    /// The upper end, in milliseconds, of the bucket in which the share is reached; null without requests.
    private static func percentile(_ share: Double, of row: FigureRow) -> JSON {
        let least = Double(row.requests) * share
        var seen: Int64 = 0
        for (bucket, count) in row.times.sorted(by: { $0.key < $1.key }) {
            seen += count
            guard Double(seen) >= least else { continue }
            return JSON(number: Double(ResponseTimes.bounds[min(bucket, ResponseTimes.bounds.count - 1)]) / 1000)
        }
        return .null
    }
}
