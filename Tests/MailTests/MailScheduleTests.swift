import MailService
import Outbound
import ParseProtocol
import ProcessKit
import Testing

/// The decision after an attempt, the pauses of the whole queue, and invalid settings. No I/O.
@Suite struct MailScheduleTests {
    static let schedule = RetrySchedule(first: .seconds(60), giveUpAfter: .seconds(3 * 86_400))
    static let temporary = MailProblem(.temporary, "Busy", reply: "451 busy")

    private static func step(_ problem: MailProblem?, attempts: Int = 1, age: Duration = .zero) -> RetrySchedule.Step {
        schedule.step(after: problem, attempts: attempts, age: age, jitter: 0.5)
    }

    @Test func aMailIsSentBouncesIsTriedAgainOrGivenUp() {
        #expect(Self.step(nil) == .sent)
        #expect(Self.step(Self.temporary) == .again(after: .seconds(60), problem: "Busy: 451 busy"))
        let bounce = MailProblem(.recipient, "Nobody")
        #expect(Self.step(bounce) == .bounced(problem: "Nobody"))
        #expect(Self.step(bounce, age: .seconds(4 * 86_400)) == .bounced(problem: "Nobody"))
        let fault = MailProblem(.configuration, "Password")
        #expect(Self.step(fault) == .again(after: .seconds(60), problem: "Password"))
        for problem in [Self.temporary, fault] {
            let step = Self.step(problem, attempts: 80, age: .seconds(3 * 86_400))
            #expect(step == .failed(problem: "Given up. \(problem.text)"))
        }
    }

    @Test func pausesDoubleFromAMinuteToAnHour() {
        let pauses = (1...9).map { Self.schedule.pause(attempts: $0, jitter: 0.5) }
        #expect(pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600].map { .seconds($0) })
        #expect(Self.schedule.pause(attempts: 1, jitter: 0) == .seconds(48))
        #expect(Self.schedule.pause(attempts: 1, jitter: 1) == .seconds(72))
        #expect(Self.schedule.pause(attempts: Int.max, jitter: 7) == .seconds(4320))
        #expect(Self.schedule.pause(attempts: Int.min, jitter: -7) == .seconds(48))
        let asked = MailProblem(.temporary, "Slow down", retryAfter: .seconds(7))
        #expect(Self.step(asked) == .again(after: .seconds(7), problem: "Slow down"))
    }

    @Test func anOutageStopsAllMailsThenTriesOneAlone() {
        var health = ServerHealth(first: .seconds(60))
        let start = Timestamp(milliseconds: 1_000_000)
        #expect(health.slots(of: 4, at: start) == 4)
        var failed = health.recordFailure(at: start)
        #expect(failed.pause == .seconds(60))
        #expect(failed.shouldReport)
        // The other attempts in progress fail for the same reason.
        failed = health.recordFailure(at: start.advanced(by: .seconds(20)))
        #expect(failed.pause == .seconds(40))
        #expect(!failed.shouldReport)
        #expect(health.slots(of: 4, at: start.advanced(by: .seconds(59))) == 0)
        let later = start.advanced(by: .seconds(60))
        #expect(health.slots(of: 4, at: later) == 1)
        #expect(health.recordFailure(at: later).pause == .seconds(120))
        var time = later
        for _ in 0..<40 {
            time = time.advanced(by: .seconds(300))
            _ = health.recordFailure(at: time)
        }
        #expect(health.slots(of: 4, at: time.advanced(by: .seconds(299))) == 0)
        #expect(health.slots(of: 4, at: time.advanced(by: .seconds(300))) == 1)
        health.recordSuccess()
        #expect(health.slots(of: 4, at: time) == 4)
        #expect(health.recordFailure(at: time, retryAfter: .seconds(7)).pause == .seconds(7))
    }

    @Test func anOutageEndsThoughTheClockIsSetBack() {
        var health = ServerHealth(first: .seconds(60))
        let start = Timestamp(milliseconds: 1_000_000_000_000)
        _ = health.recordFailure(at: start)
        #expect(health.resumesAt(from: start) == start.advanced(by: .seconds(60)))
        let before = start.advanced(by: .seconds(-40 * 86_400))
        #expect(health.slots(of: 4, at: before) == 1)
        #expect(health.resumesAt(from: before) == nil)
        #expect(health.recordFailure(at: before).pause == .seconds(120))
        #expect(health.slots(of: 4, at: before) == 0)
    }

    @Test func aDomainHasItsShareAndASlowOneLess() {
        var shares = DomainLimits(perDomain: 2)
        func begins(_ domain: String) -> Bool { shares.begin(domain) }
        func quick(_ domain: String) { shares.end(domain, after: .seconds(1)) }
        #expect(begins("a.example"))
        #expect(shares.full.isEmpty)
        #expect(begins("a.example"))
        #expect(!begins("a.example"))
        #expect(begins("b.example"))
        #expect(shares.full == ["a.example"])
        quick("a.example")
        #expect(begins("a.example"))
        for _ in 0..<2 { shares.end("a.example", after: DomainLimits.slowAfter) }
        #expect(begins("a.example"))
        #expect(!begins("a.example"), "It was slow.")
        shares.end("a.example", after: nil)
        #expect(begins("a.example"))
        quick("a.example")
        #expect(begins("a.example"))
        #expect(begins("a.example"), "It is quick again.")
        #expect(DomainLimits.domain(of: "Ann@Shop.Example") == "shop.example")
    }

    @Test func aTimeOutBeforeTheMailIsTheServersAndLaterTheMails() {
        typealias Stage = OutboundFailure.MailStage
        for (stage, affectsAll) in [
            (Stage.connection, true), (.login, true), (.sender, true), (.recipient, false), (.content, false),
        ] {
            for reason in [OutboundFailure.Reason.timedOut, .broken] {
                let problem = MailProblem(smtp: OutboundFailure(reason, wasNotSent: false, stage: stage))
                #expect(problem.kind == .temporary, "\(stage)")
                #expect(problem.affectsAll == affectsAll, "\(stage)")
            }
        }
        let strange = MailProblem(
            smtp: OutboundFailure(.mailRefused, wasNotSent: true, replyCode: 550, stage: .recipient, reply: "550 5.1 x")
        )
        #expect(strange.kind == .recipient)
        #expect(MailProblem(smtp: OutboundFailure(.mailRefused, wasNotSent: true)).kind == .configuration)
    }

    // MARK: - Settings

    private static func configuration(_ settings: [String: String]) throws -> MailConfiguration {
        try MailConfiguration(Settings(settings))
    }

    @Test func theProviderIsChosenBySettingsAlone() throws {
        guard case .spool = try Self.configuration([:]).provider else {
            Issue.record("The standard is the spool.")
            return
        }
        let smtp: [String: String] = [
            "SATCHEL_MAIL": "smtp", "SATCHEL_SMTP_URL": "smtps://mail.shop.example:465", "SATCHEL_SMTP_USER": "u",
            "SATCHEL_SMTP_PASSWORD": "p", "SATCHEL_MAIL_CONNECTIONS": "9", "SATCHEL_MAIL_RETRY_SECONDS": "5",
        ]
        let configuration = try Self.configuration(smtp)
        guard case .smtp(let settings) = configuration.provider else {
            Issue.record("SATCHEL_MAIL=smtp is SMTP.")
            return
        }
        #expect(settings.url == "smtps://mail.shop.example:465")
        #expect(settings.login?.password == "p")
        #expect(settings.encryption == .required)
        #expect(configuration.sending.connections == 9)
        #expect(configuration.sending.schedule.first == .seconds(5))
        guard
            case .mailgun(let mailgun) = try Self.configuration([
                "SATCHEL_MAIL": "mailgun", "SATCHEL_MAILGUN_DOMAIN": "mg.shop.example", "SATCHEL_MAILGUN_KEY": "k",
            ]).provider
        else {
            Issue.record("SATCHEL_MAIL=mailgun is Mailgun.")
            return
        }
        #expect(mailgun.url == "https://api.mailgun.net")
    }

    static let mailgun = [
        "SATCHEL_MAIL": "mailgun", "SATCHEL_MAILGUN_DOMAIN": "mg.x.example", "SATCHEL_MAILGUN_KEY": "hush",
    ]
    static let smtp = ["SATCHEL_MAIL": "smtp", "SATCHEL_SMTP_URL": "smtp://mail.x.example:587"]
    static let wrong: [(base: [String: String], changes: [String: String], named: String)] = [
        ([:], ["SATCHEL_MAIL": "pigeon"], "SATCHEL_MAIL is `pigeon`"),
        ([:], ["SATCHEL_MAIL": "smtp"], "SATCHEL_SMTP_URL"),
        ([:], ["SATCHEL_MAIL_FROM": "nobody"], "SATCHEL_MAIL_FROM"),
        ([:], ["SATCHEL_MAIL_STAFF": "desk@shop.example, nobody"], "SATCHEL_MAIL_STAFF"),
        ([:], ["SATCHEL_MAIL_CONNECTIONS": "0"], "SATCHEL_MAIL_CONNECTIONS=0"),
        ([:], ["SATCHEL_MAIL_RETRY_SECONDS": "soon"], "SATCHEL_MAIL_RETRY_SECONDS=soon"),
        ([:], ["SATCHEL_CA_FILE": "/nowhere.pem"], "SATCHEL_CA_FILE=/nowhere.pem"),
        (smtp, ["SATCHEL_SMTP_URL": "http://mail.x.example"], "SATCHEL_SMTP_URL"),
        (smtp, ["SATCHEL_SMTP_URL": "smtp://u:hush@mail.x.example"], "SATCHEL_SMTP_URL"),
        (smtp, ["SATCHEL_SMTP_USER": "u"], "SATCHEL_SMTP_PASSWORD"),
        (smtp, ["SATCHEL_SMTP_PASSWORD": "hush"], "SATCHEL_SMTP_USER"),
        (smtp, ["SATCHEL_SMTP_TLS": "maybe"], "SATCHEL_SMTP_TLS is `maybe`"),
        (mailgun, ["SATCHEL_MAILGUN_KEY": ""], "SATCHEL_MAILGUN_KEY"),
        (mailgun, ["SATCHEL_MAILGUN_DOMAIN": "x/../y"], "SATCHEL_MAILGUN_DOMAIN"),
        (mailgun, ["SATCHEL_MAILGUN_URL": "ftp://x.example"], "SATCHEL_MAILGUN_URL"),
    ]

    @Test(arguments: wrong)
    func aWrongSettingIsNamed(base: [String: String], changes: [String: String], named: String) throws {
        let settings = base.merging(changes) { $1 }
        do {
            _ = try Self.configuration(settings)
            Issue.record("\(settings) is wrong.")
        } catch {
            #expect("\(error)".contains(named), "\(error)")
            #expect(!"\(error)".contains("hush"), "\(error)")
        }
    }
}
