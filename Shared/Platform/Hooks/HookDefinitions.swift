import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The webhooks that operators declared. The gateway has a copy and reloads it after each change that it sends.
enum HookDefinitions {
    /// Far above the need of any app. All webhooks are in one message and in the gateway's memory.
    static let countMax: Int64 = 1000

    static func all(in reader: ObjectReader) throws -> HooksReply {
        let rows = try reader.rows("SELECT className, name, url FROM hooks ORDER BY className, name")
        return try HooksReply.with { reply in
            reply.hooks = try rows.map { row in
                try .with {
                    let className = try row.text("className")
                    $0.className = className
                    if className.isEmpty {
                        $0.functionName = try row.text("name")
                    } else {
                        $0.triggerName = try row.text("name")
                    }
                    $0.url = try row.text("url")
                }
            }
        }
    }

    /// A stored webhook in the form of the audit log; nil when there is none. Leaves out the URL's query, which may
    /// contain a secret.
    static func shown(_ hook: Hook, in reader: ObjectReader) throws -> JSON? {
        let name = hook.functionName.isEmpty ? hook.triggerName : hook.functionName
        let rows = try reader.rows(
            "SELECT url FROM hooks WHERE className = ? AND name = ?", [.text(hook.className), .text(name)])
        return try rows.first.map { row in
            let url = try row.text("url")
            let address = url.prefix { $0 != "?" }
            return ["url": .string(address.count < url.count ? "\(address)?…" : url)]
        }
    }

    /// - Throws: `.webhookError` (143); then nothing is changed.
    static func apply(_ change: HookChange, in transaction: StoreTransaction) throws {
        let hook = try HookDeclaration(change.hook, needsURL: change.verb != .remove)
        let key: [SQLValue] = [.text(hook.className), .text(hook.name)]
        let now = SQLValue.int(transaction.now.milliseconds)
        switch change.verb {
        case .create:
            let count = try transaction.rows("SELECT count(*) FROM hooks").first?.int(0) ?? 0
            guard count < countMax else {
                throw ParseError(.webhookError, "There are \(countMax) hooks already, which is the limit.")
            }
            let added = try transaction.execute(
                "INSERT INTO hooks(className, name, url, changedAt) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                key + [.text(hook.url), now])
            guard added == 1 else { throw hook.isThere }
        case .change:
            let changed = try transaction.execute(
                "UPDATE hooks SET url = ?3, changedAt = ?4 WHERE className = ?1 AND name = ?2",
                key + [.text(hook.url), now])
            guard changed == 1 else { throw hook.isNotThere }
        case .remove: _ = try transaction.execute("DELETE FROM hooks WHERE className = ? AND name = ?", key)
        case .unknown, .UNRECOGNIZED: throw ParseError(.invalidJSON, "Unknown verb.")
        }
    }
}

extension HookDeclaration {
    fileprivate var isThere: ParseError {
        ParseError(
            .webhookError,
            isFunction ? "function name: \(name) already exists" : "class \(className) already has trigger \(name)")
    }

    fileprivate var isNotThere: ParseError {
        ParseError(
            .webhookError,
            isFunction ? "no function named: \(name) is defined" : "class \(className) does not exist")
    }
}
