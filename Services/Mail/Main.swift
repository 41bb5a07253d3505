import ServiceKit

/// The mail service: what the shop writes to its customers.
@main
struct Mail {
    static func main() async { await runService(mailPlan, build: buildMail) }
}
