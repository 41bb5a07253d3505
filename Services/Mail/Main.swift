import ServiceKit

/// The mail service: the shop's mails to its customers.
@main
struct Mail {
    static func main() async { await runService(mailPlan, build: buildMail) }
}
