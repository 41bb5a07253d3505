import ObjectStore
import ParseProtocol

/// A row of `mails` with the columns that composing needs.
package struct QueuedMail: Sendable {
    package let id: Int64
    package let template: String
    package let toAddress: String
    package let toName: String
    package let model: [UInt8]
    /// Local part of the Message-ID.
    package let messageId: String
    package let queuedAt: Timestamp
    /// The number of earlier attempts.
    package let attempts: Int
    /// Whether the address is on the suppression list.
    package let isSuppressed: Bool
    /// The trace context (`traceparent`) of the request that queued the mail; nil without one.
    package let trace: TraceContext?

    /// The columns of `mails` that `init` needs.
    static let columns = """
        id, template, toAddress, toName, model, messageId, queuedAt, attempts, trace, \
        EXISTS (SELECT 1 FROM suppressedAddresses WHERE address = lower(toAddress)) AS isSuppressed
        """

    init(_ row: SQLRow) throws {
        try self.init(
            id: row.int("id"), template: row.text("template"), toAddress: row.text("toAddress"),
            toName: row.text("toName"), model: row.blob("model"), messageId: row.text("messageId"),
            queuedAt: Timestamp(milliseconds: row.int("queuedAt")), attempts: Int(row.int("attempts")),
            isSuppressed: row.int("isSuppressed") == 1, trace: row["trace"].textValue.flatMap { TraceContext($0) })
    }

    package init(
        id: Int64, template: String, toAddress: String, toName: String, model: [UInt8], messageId: String,
        queuedAt: Timestamp, attempts: Int, isSuppressed: Bool = false, trace: TraceContext? = nil
    ) {
        self.id = id
        self.template = template
        self.toAddress = toAddress
        self.toName = toName
        self.model = model
        self.messageId = messageId
        self.queuedAt = queuedAt
        self.attempts = attempts
        self.isSuppressed = isSuppressed
        self.trace = trace
    }

    /// The name by which a transport knows the mail, such as that of its spool file: when it was queued (UTC), its
    /// template, and its number in the table. Without personal data, because people see lists of files.
    /// `2026-01-02T030405-order-shipped-42`
    package var name: String {
        "\(queuedAt.iso.prefix(19).filter { $0 != ":" })-\(template)-\(id)"
    }

    func with(model: [UInt8]) -> QueuedMail {
        QueuedMail(
            id: id, template: template, toAddress: toAddress, toName: toName, model: model, messageId: messageId,
            queuedAt: queuedAt, attempts: attempts, isSuppressed: isSuppressed, trace: trace)
    }
}
