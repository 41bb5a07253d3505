import Messages
import ObjectStore
import ParseProtocol

/// The latest definitions of cloud code from `cloud`. Stored here, so that gateways know each trigger while `cloud` is
/// unavailable.
enum CodeHooks {
    /// Far above the need of any app. All definitions are in one message and in the gateway's memory.
    private static let countMax = 10_000
    private static let nameBytesMax = 256

    private static let function = "function"
    private static let job = "job"
    private static let trigger = "trigger"

    static func all(in reader: ObjectReader) throws -> CodeDefinitions {
        let rows = try reader.rows("SELECT kind, className, name FROM codeHooks ORDER BY kind, className, name")
        var definitions = CodeDefinitions()
        for row in rows {
            let name = try row.text("name")
            switch try row.text("kind") {
            case function: definitions.functions.append(name)
            case job: definitions.jobs.append(name)
            default:
                let className = try row.text("className")
                definitions.triggers.append(
                    .with {
                        $0.className = className
                        $0.triggerName = name
                    })
            }
        }
        return definitions
    }

    /// The names of the cloud code's jobs.
    static func jobs(in reader: ObjectReader) throws -> Set<String> {
        Set(try reader.rows("SELECT name FROM codeHooks WHERE kind = ?", [.text(job)]).map { try $0.text("name") })
    }

    /// - Throws: `.webhookError` (143) when there are too many definitions; then nothing is changed.
    static func replace(by definitions: CodeDefinitions, in transaction: StoreTransaction) throws {
        let rows =
            definitions.functions.map { (function, "", $0) } + definitions.jobs.map { (job, "", $0) }
            + definitions.triggers.map { (trigger, $0.className, $0.triggerName) }
        guard rows.count <= countMax, rows.allSatisfy({ max($0.1.utf8.count, $0.2.utf8.count) <= nameBytesMax }) else {
            throw ParseError(
                .webhookError,
                "Cloud code defines at most \(countMax) things, with names of at most \(nameBytesMax) bytes.")
        }
        _ = try transaction.execute("DELETE FROM codeHooks", [])
        for (kind, className, name) in rows {
            _ = try transaction.execute(
                "INSERT INTO codeHooks(kind, className, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                [.text(kind), .text(className), .text(name)])
        }
    }
}
