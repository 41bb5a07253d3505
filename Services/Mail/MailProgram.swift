import ServiceKit

/// The mail service: the shop's mails to its customers.
package enum MailProgram {
    package static func main() async { await runService(mailPlan, build: buildMail) }
}
