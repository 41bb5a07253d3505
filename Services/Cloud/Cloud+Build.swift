import Foundation
import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// It keeps nothing but what every service has. Of its replicas the one that holds the writer's lock runs the code, so
/// that of two versions of it only one gets calls; the others stand by. One that stops lets the next begin before its
/// own calls are done: they may wait for triggers, which the next one answers.
package let cloudPlan: ServicePlan = {
    var plan = ServicePlan(name: "cloud")
    plan.yieldsFirst = true
    return plan
}()

package func buildCloud(_ host: ServiceHost, _ routes: inout ServiceRoutes) throws {
    let runner = try CloudRunner(
        host: host,
        configuration: CloudConfiguration(
            host.configuration.settings, dataDirectory: host.configuration.dataDirectory))
    routes.handover(CloudCalls.run) { message, request, completion in
        try runner.run(message, request, completion: completion)
    }
    routes.task(CloudCalls.job) { message, request in try runner.job(message, request) }
    host.background.add(runner.publishing)
    host.whenIdle { await runner.end(within: $0) }
    host.whenWriter("code", every: .seconds(3600), problem: "The cloud code could not be started.") {
        try await runner.begin()
        return .finished
    }
}
