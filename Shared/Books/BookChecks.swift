extension BookCheck {
    /// The services with books.
    package static let services = ["analytics", "bag", "catalog", "crash", "mail", "payments", "push", "users"]

    /// The checks of single databases.
    package static let all = bag + payments + analytics + catalog + mail + services.flatMap(messages)

    // MARK: Every service

    /// A message is tried once a minute; an hour of that means that its receiver is away.
    private static let attemptsMax = 68

    private static func messages(of service: String) -> [BookCheck] {
        [
            BookCheck(
                name: "\(service).outbox", says: "Each message to another service is delivered within an hour.",
                remedy: "scripts/status and scripts/logs say what the receiver lacks; it gets the message later.",
                counts: .rows("outbox"),
                finds: {
                    """
                    SELECT m.key AS name, m.kind || ', ' || m.attempts || ' attempts. ' || coalesce(m.lastProblem, '')
                    AS found FROM outbox m WHERE m.attempts > \(attemptsMax) OR m.dueAt < \($0.before(BookTables.hour))
                    """
                }),
            BookCheck(
                name: "\(service).parked", says: "No message is parked.",
                remedy: "Remove the cause; then scripts/restart \(service) sends the message again.",
                counts: .rows("parkedMessages"),
                finds: { _ in "SELECT p.key AS name, p.kind || '. ' || p.problem AS found FROM parkedMessages p" }),
        ]
    }

    // MARK: Analytics

    /// Analytics removes older sums, but no sales (`Retention`).
    private static let sumsKept = 5 * 365 * BookTables.day

    private static let analytics: [BookCheck] = [
        BookCheck(
            name: "analytics.sums", says: "The sums by hour are those of the sales and refunds.",
            remedy: CrossCheck.rebuild,
            counts: .rows("salesHours"),
            finds: {
                """
                SELECT s.currency AS name, 'Too much in the sums: ' || s.orders || ' orders, ' || s.gross ||
                ' sold, ' || s.refunded || ' refunded' AS found
                FROM (SELECT h.currency AS currency, sum(h.orders) AS orders, sum(h.gross) AS gross,
                sum(h.refunded) AS refunded FROM (
                SELECT currency, orders, grossMinorUnits AS gross, refundedMinorUnits AS refunded FROM salesHours
                UNION ALL SELECT currency, -1, -totalMinorUnits, 0 FROM sales
                UNION ALL SELECT currency, 0, 0, -minorUnits FROM refunds) AS h GROUP BY h.currency) AS s
                WHERE (s.orders <> 0 OR s.gross <> 0 OR s.refunded <> 0)
                AND NOT EXISTS (SELECT 1 FROM sales WHERE madeAt < \($0.before(sumsKept)))
                """
            })
    ]

    // MARK: Mail

    /// The longest time of `SATCHEL_MAIL_GIVE_UP_HOURS`, and a day.
    private static let mailAge = 31 * BookTables.day

    private static let mail: [BookCheck] = [
        BookCheck(
            name: "mail.age", says: "A mail is sent or given up in time.",
            remedy: "scripts/logs mail says what the mail server answers.",
            counts: .rows("mails WHERE state = 'queued'"),
            finds: {
                """
                SELECT CAST(m.id AS TEXT) AS name, m.template || ', ' || m.attempts || ' attempts. ' ||
                coalesce(m.problem, '') AS found FROM mails m
                WHERE m.state = 'queued' AND m.queuedAt < \($0.before(mailAge))
                """
            }),
        BookCheck(
            name: "mail.confirmation", says: "An order is confirmed by one mail.",
            remedy: "The customer got two mails; nothing is to do unless it happens again.",
            counts: .rows("mails WHERE template = 'order-confirmation'"),
            finds: { _ in
                """
                SELECT CAST(m.orderNo AS TEXT) AS name, count(*) || ' mails' AS found FROM mails m
                WHERE m.orderNo IS NOT NULL AND m.template = 'order-confirmation'
                AND m.key LIKE 'outbox:checkout:%:mail' GROUP BY m.orderNo HAVING count(*) > 1
                """
            }),
    ]
}
