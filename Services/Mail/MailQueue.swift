import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// A mail that waits to be sent.
package struct QueuedMail: Sendable {
    package let id: Int64
    package let template: String
    package let toAddress: String
    package let toName: String
    package let model: [UInt8]
    /// Local part of the Message-ID and name of the file.
    package let messageId: String
    package let queuedAt: Date
    package let attempts: Int

    package init(
        id: Int64, template: String, toAddress: String, toName: String, model: [UInt8], messageId: String,
        queuedAt: Date,
        attempts: Int
    ) {
        self.id = id
        self.template = template
        self.toAddress = toAddress
        self.toName = toName
        self.model = model
        self.messageId = messageId
        self.queuedAt = queuedAt
        self.attempts = attempts
    }
}

/// The table of mails. A row is never removed by the service: it is the record of what was sent to whom.
struct MailQueue: Sendable {
    static let tables = [
        """
        CREATE TABLE IF NOT EXISTS mails(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, template TEXT NOT NULL,
        toAddress TEXT NOT NULL, toName TEXT NOT NULL, model BLOB NOT NULL, messageId TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, queuedAt INTEGER NOT NULL, dueAt INTEGER NOT NULL,
        sentAt INTEGER, problem TEXT)
        """,
        "CREATE INDEX IF NOT EXISTS mailsDue ON mails(dueAt) WHERE state = 'queued'",
    ]

    private static let batchMax: Int64 = 32

    let store: ClassStore

    /// Queues a mail. What is wrong with it shows when it is sent: an error here would make the sender's outbox try for ever.
    static func add(_ message: SendMailRequest, key: String, in transaction: StoreTransaction) throws {
        let key = key.isEmpty ? Names.random(20) : key
        _ = try transaction.execute(
            """
            INSERT INTO mails(key, template, toAddress, toName, model, messageId, state, queuedAt, dueAt)
            VALUES (?, ?, ?, ?, ?, ?, 'queued', ?, ?) ON CONFLICT DO NOTHING
            """,
            [
                .text(key), .text(message.template), .text(message.toAddress), .text(message.toName),
                .blob(Array(message.model)), .text(MessageId.of(key) ?? Names.random(20)),
                .int(transaction.now.milliseconds), .int(transaction.now.milliseconds),
            ])
    }

    func due() async throws -> [QueuedMail] {
        try await store.read { reader in
            try reader.rows(
                "SELECT * FROM mails WHERE state = 'queued' AND dueAt <= ? ORDER BY dueAt, id LIMIT ?",
                [.int(Timestamp.now.milliseconds), .int(Self.batchMax)]
            ).map { row in
                QueuedMail(
                    id: row.int("id"), template: row.text("template"), toAddress: row.text("toAddress"),
                    toName: row.text("toName"), model: row.blob("model"), messageId: row.text("messageId"),
                    queuedAt: Date(timeIntervalSince1970: Double(row.int("queuedAt")) / 1000),
                    attempts: Int(row.int("attempts")))
            }
        }
    }

    enum Outcome: Sendable {
        case sent
        case impossible(String)
        case again(after: Duration, String)
    }

    func record(_ outcomes: [(id: Int64, outcome: Outcome)]) async throws {
        try await store.write { transaction in
            for (id, outcome) in outcomes {
                let now = transaction.now
                let (state, dueAt, sentAt, problem): (String, Timestamp, SQLValue, SQLValue) =
                    switch outcome {
                    case .sent: ("sent", now, .int(now.milliseconds), .null)
                    case .impossible(let problem): ("failed", now, .null, .text(problem))
                    case .again(let pause, let problem): ("queued", now.advanced(by: pause), .null, .text(problem))
                    }
                _ = try transaction.execute(
                    "UPDATE mails SET state = ?, attempts = attempts + 1, dueAt = ?, sentAt = ?, problem = ? WHERE id = ?",
                    [.text(state), .int(dueAt.milliseconds), sentAt, problem, .int(id)])
            }
        }
    }
}
