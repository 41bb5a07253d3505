/// Routes for apps' configuration and reports, and for operators' requests about the suite itself.
extension Route {
    static let config: [Route] = [
        Route(.get, "/config", .config, "getConfig", "The parameters of the app.") {
            try await $0.controllers.config.get($0.request, $0.principal)
        },
        Route(.put, "/config", .config, "updateConfig", "Changes parameters of the app.", access: .desk(.developers)) {
            try await $0.controllers.config.put($0.request, $0.principal)
        },
        Route(.get, "/classes/_GlobalConfig", .config, "findConfig", "The parameters as an object of their class.") {
            try await $0.controllers.config.find($0.request, $0.principal)
        },
        Route(
            .delete, "/classes/_GlobalConfig/{objectId}", .config, "deleteConfig", "Removes all parameters."
        ) {
            try await $0.controllers.config.delete($0["objectId"], $0.request, $0.principal)
        },
        Route(.post, "/events/{eventName}", .reports, "trackEvent", "Counts something that happened in the app.") {
            try await $0.controllers.events.track($0["eventName"], $0.request, $0.principal)
        },
    ]

    static let system: [Route] = [
        Route(.get, "/health", .system, "getHealth", "Whether every service is there.", access: .anyone) {
            $0.controllers.system.health($0.request)
        },
        // Parse Server answers every verb here, and the Swift SDK uses this one.
        Route(.post, "/health", .system, "postHealth", "Whether every service is there.", access: .anyone) {
            $0.controllers.system.health($0.request)
        },
        Route(.get, "/openapi.json", .system, "getOpenAPI", "This document.", access: .anyone) {
            try $0.controllers.system.openAPI()
        },
        Route(.get, "/serverInfo", .system, "getServerInfo", "Version and features.", access: .desk(.developers)) {
            await $0.controllers.system.serverInfo()
        },
        Route(.get, "/scriptlog", .system, "getLog", "Lines of the log.", access: .desk(.developers)) {
            try await $0.controllers.logs.read($0.request)
        },
        Route(
            .get, "/security", .system, "getSecurityReport", "A check of the configuration.", access: .desk(.developers)
        ) {
            try await $0.controllers.security.report($0.request)
        },
        // A payment provider has no keys of the shop. The service that has the secret checks the provider's signature.
        Route(.post, "/webhooks/stripe", .system, "receiveStripeEvent", "What Stripe reports.", access: .anyone) {
            try await $0.controllers.stripeWebhook.receive($0.request)
        },
    ]

    /// Where monitoring systems look for it, outside the mount.
    static let metrics = Route(
        .get, "/metrics", .system, "scrapeMetrics", "Metrics of all processes for Prometheus.", access: .anyone
    ) {
        await $0.controllers.metrics.page($0.request, $0.router.meter.times)
    }

    /// The routes on which Sentry's SDKs send crash reports. They are outside the mount, because the SDK makes the path
    /// from its DSN.
    static let crashReports: [Route] = [
        Route(
            .post, "/api/{project}/envelope", .reports, "receiveCrashEnvelope", "Crash reports of Sentry's SDKs.",
            access: .anyone
        ) {
            try await $0.controllers.sentry.report($0.request)
        },
        Route(
            .post, "/api/{project}/store", .reports, "receiveCrashEvent", "One event of an old Sentry SDK.",
            access: .anyone
        ) {
            try await $0.controllers.sentry.report($0.request)
        },
    ]
}
