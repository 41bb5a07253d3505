import ObjectStore
import ParseProtocol
import ServiceKit

/// `pushes {status?, from?, limit?, skip?}`: pushes, newest first, with their results and the count of all.
struct PushList: Sendable {
    private let condition: JSON
    private let limit: Int
    private let skip: Int

    private static let states = ["scheduled", "pending", "running", "succeeded", "failed", "cancelled"]
    /// As many as analytics tells the opens of at once.
    private static let limitMax: Int64 = 100
    private static let skipMax: Int64 = 1_000_000

    /// - Throws: `.validationError` (142) for invalid parameters.
    init(_ parameters: JSON) throws {
        var condition: JSON = [:]
        if let status = parameters["status"], !status.isNull {
            guard let text = status.stringValue, Self.states.contains(text) else {
                throw ParseError(.validationError, "status must be one of \(Self.states.joined(separator: ", ")).")
            }
            condition = Self.condition(text)
        }
        if let from = try parameters.momentParameter("from") { condition["createdAt"] = ["$gte": from.wire] }
        self.condition = condition
        limit = Int(try parameters.listLimit(standard: 50, maximum: Self.limitMax))
        guard let skip = (parameters["skip"] ?? 0).intValue, (0...Self.skipMax).contains(skip) else {
            throw ParseError(.validationError, "skip must be a whole number from 0 to \(Self.skipMax).")
        }
        self.skip = Int(skip)
    }

    /// A push that an operator stopped has the status `failed`; `PushProgress` begins its message with this word.
    private static func condition(_ state: String) -> JSON {
        switch state {
        case "cancelled": ["status": "failed", "errorMessage": ["$regex": "^Cancelled"]]
        case "failed":
            [
                "status": "failed",
                "$or": [["errorMessage": ["$exists": false]], ["errorMessage": ["$regex": "^(?!Cancelled)"]]],
            ]
        default: ["status": .string(state)]
        }
    }

    func read(in reader: ObjectReader) throws -> (pushes: [JSON], count: Int) {
        let query = Query(
            className: Pushes.statusClass, where: condition, order: ["-createdAt"], limit: limit, skip: skip)
        let statuses = try reader.documents(query, caller: .master)
        let ids = JSON.array(statuses.compactMap { $0["objectId"] }).serializedText
        let rows = try reader.rows(
            """
            SELECT id, promotion FROM pushes WHERE promotion IS NOT NULL
            AND id\(reader.dialect.isIn("?", as: .text))
            """, [.text(ids)])
        let promotions = try Dictionary(rows.map { try ($0.text("id"), $0.text("promotion")) }) { first, _ in first }
        let pushes = statuses.map { status in
            var push: JSON = ["text": .string(Self.text(of: status))]
            push["pushId"] = status["objectId"]
            push["promotionId"] = status["objectId"]?.stringValue.flatMap { promotions[$0] }.map(JSON.string)
            for name in ["status", "source", "pushTime", "pushHash", "errorMessage", "createdAt"] {
                push[name] = status[name]
            }
            for (name, field) in [("sent", "numSent"), ("failed", "numFailed"), ("count", "count")] {
                push[name] = status[field] ?? 0
            }
            return push
        }
        return (pushes, try reader.count(query, caller: .master))
    }

    /// The visible text of a push.
    private static func text(of status: JSON) -> String {
        guard let payload = status["payload"]?.stringValue.flatMap({ try? JSON(parsing: $0) }) else { return "" }
        let alert = payload["alert"]
        return alert?.stringValue ?? alert?["body"]?.stringValue ?? alert?["title"]?.stringValue ?? ""
    }
}
