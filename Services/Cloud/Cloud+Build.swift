import Foundation
import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The cloud service owns no data. Each replica runs the code that was in its folder at start, or a version deployed
/// later by API. Calls go only to replicas with the same code as the writer (`Hello.edition`), so a single version gets
/// calls. The writer registers the code's definitions with the catalog and runs the jobs. A stopping replica hands the
/// writer role over before its own calls end, because they may wait for triggers that other replicas answer.
package let cloudPlan: ServicePlan = {
    var plan = ServicePlan(name: "cloud")
    plan.yieldsFirst = true
    plan.isRecreatedAtStart = true
    return plan
}()

package func buildCloud(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let folder = host.configuration.dataDirectory
    let configuration = try CloudConfiguration(
        host.configuration.settings, dataDirectory: folder, replica: host.configuration.replica)
    let runner = try CloudRunner(host: host, configuration: configuration)
    routes.handover(CloudCalls.run) { message, request, completion in
        try runner.run(message, request, completion: completion)
    }
    routes.task(CloudCalls.job) { message, request in try runner.job(message, request) }
    host.background.add(runner.publishing)
    host.whenIdle { await runner.end(within: $0) }
    host.whenStarted("code", every: .seconds(3600), problem: "The cloud code could not be started.") {
        try await runner.begin()
        return .finished
    }
    let deployment = CodeDeployment(
        host: host, runner: runner,
        versions: CodeVersions(place: configuration.place, lockFile: folder + "/cloud.lock"),
        isOn: configuration.allowsDeployByRoute)
    deployment.install(in: &routes)
    guard configuration.allowsDeployByRoute else { return }
    let followed = VersionFollower(deployment)
    host.whenStarted("versions", every: .seconds(1), problem: "A version of the cloud code could not be loaded.") {
        try await followed.look()
        return .idle
    }
}
