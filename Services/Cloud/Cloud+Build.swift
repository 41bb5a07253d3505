import Foundation
import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// It keeps nothing but what every service has. Each replica runs the code that its folder had when it began, and calls
/// go to those alone that run the same as the writer (`Hello.edition`): of two versions only one gets calls. The writer
/// tells the catalog what the code defines, and has the jobs. A replica that stops lets the next be the writer before
/// its own calls are done: they may wait for triggers, which others answer.
package let cloudPlan: ServicePlan = {
    var plan = ServicePlan(name: "cloud")
    plan.yieldsFirst = true
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
        isOn: configuration.takesCodeByRoute)
    deployment.install(in: &routes)
    guard configuration.takesCodeByRoute else { return }
    let followed = FollowedVersions(deployment)
    host.whenStarted("versions", every: .seconds(1), problem: "A version of the cloud code could not be taken.") {
        try await followed.look()
        return .idle
    }
}
