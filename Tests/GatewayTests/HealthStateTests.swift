import GatewayService
import MessageBus
import Testing

/// Which services `/health` reports as missing.
@Suite struct HealthStateTests {
    @Test func cloudIsMissedWhereThereIsCodeForIt() {
        var present = Broker.ServiceState()
        present.replicas = ["one"]
        present.hasWriter = true
        let names = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "web"]
        let others = Dictionary(uniqueKeysWithValues: names.map { ($0, present) })
        #expect(SuiteHealth(others, hasCode: false).status == "ok")
        #expect(SuiteHealth(others, hasCode: true).status == "degraded")
        #expect(SuiteHealth(others, hasCode: true).isServing)
        #expect(SuiteHealth(others.merging(["cloud": present]) { _, new in new }, hasCode: true).status == "ok")
        var starting = present
        starting.hasWriter = false
        let waiting = others.merging(["cloud": starting]) { _, new in new }
        #expect(SuiteHealth(waiting, hasCode: false).status == "degraded", "It says itself that it is not well.")
    }

    /// An unreachable file bucket must not make the health check fail.
    @Test func aServiceWithAWarningIsOnlyDegraded() {
        var present = Broker.ServiceState()
        present.replicas = ["one"]
        present.hasWriter = true
        let names = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "web"]
        var services = Dictionary(uniqueKeysWithValues: names.map { ($0, present) })
        services["catalog"]?.warning = "The bucket of files does not answer."
        let warned = SuiteHealth(services, hasCode: false)
        #expect(warned.status == "degraded")
        #expect(warned.isServing)
        services["catalog"]?.problem = "The disk is full."
        let failing = SuiteHealth(services, hasCode: false)
        #expect(failing.status == "failing")
        #expect(!failing.isServing)
    }
}
