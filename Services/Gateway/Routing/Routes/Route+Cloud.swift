/// Functions, jobs, hooks and purchases.
extension Route {
    static let cloud: [Route] = [
        Route(.post, "/functions/{functionName}", .cloud, "callFunction", "Calls a cloud function.") {
            try await $0.controllers.functions.call($0["functionName"], $0.request, $0.principal)
        },
        Route(
            .post, "/jobs", .cloud, "startNamedJob", "Starts the job that the body names.", access: .desk(.developers)
        ) {
            try await $0.controllers.jobs.start(nil, $0.request, $0.principal)
        },
        Route(.post, "/jobs/{jobName}", .cloud, "startJob", "Starts a job.", access: .desk(.developers)) {
            try await $0.controllers.jobs.start($0["jobName"], $0.request, $0.principal)
        },
        Route(
            .delete, "/jobs/{jobName}", .cloud, "stopJob", "Ends the runs of a job, or one by its status's id.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.jobs.stop($0["jobName"], $0.request, $0.principal)
        },
        Route(.get, "/cloud_code/jobs", .cloud, "listJobSchedules", "When jobs run.", access: .desk(.developers)) {
            try await $0.controllers.jobs.schedules($0.request, $0.principal)
        },
        Route(.get, "/cloud_code/jobs/data", .cloud, "listJobs", "The jobs there are.", access: .desk(.developers)) {
            try await $0.controllers.jobs.names($0.request, $0.principal)
        },
        Route(.post, "/cloud_code/jobs", .cloud, "createJobSchedule", "Plans a job.", access: .desk(.developers)) {
            try await $0.controllers.jobs.plan(nil, $0.request, $0.principal)
        },
        Route(
            .put, "/cloud_code/jobs/{objectId}", .cloud, "updateJobSchedule", "Changes a plan.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.jobs.plan($0["objectId"], $0.request, $0.principal)
        },
        Route(
            .delete, "/cloud_code/jobs/{objectId}", .cloud, "deleteJobSchedule", "Ends a plan.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.jobs.forget($0["objectId"], $0.request, $0.principal)
        },
        Route(
            .post, "/validate_purchase", .cloud, "validatePurchase", "Checks a purchase made in Apple's App Store."
        ) {
            try await $0.controllers.purchases.validate($0.request, $0.principal)
        },
    ]

    /// Functions and triggers at other hosts. Parse Server deletes by PUT; hosted Parse had DELETE as well.
    static let hooks: [Route] = [
        Route(
            .get, "/hooks/functions", .cloud, "listFunctionHooks", "The functions at other hosts.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.list(functions: true, $0.request)
        },
        Route(.post, "/hooks/functions", .cloud, "createFunctionHook", "Adds a function.", access: .desk(.developers)) {
            try await $0.controllers.hooks.create($0.request, $0.principal)
        },
        Route(
            .get, "/hooks/functions/{functionName}", .cloud, "getFunctionHook", "One function.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.get(.named($0), $0.request)
        },
        Route(
            .put, "/hooks/functions/{functionName}", .cloud, "updateFunctionHook", "Changes or removes a function.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.change(.named($0), $0.request, $0.principal)
        },
        Route(
            .delete, "/hooks/functions/{functionName}", .cloud, "deleteFunctionHook", "Removes a function.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.remove(.named($0), $0.request, $0.principal)
        },
        Route(
            .get, "/hooks/triggers", .cloud, "listTriggerHooks", "The triggers at other hosts.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.list(functions: false, $0.request)
        },
        Route(.post, "/hooks/triggers", .cloud, "createTriggerHook", "Adds a trigger.", access: .desk(.developers)) {
            try await $0.controllers.hooks.create($0.request, $0.principal)
        },
        Route(
            .get, "/hooks/triggers/{className}/{triggerName}", .cloud, "getTriggerHook", "One trigger.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.get(.named($0), $0.request)
        },
        Route(
            .put, "/hooks/triggers/{className}/{triggerName}", .cloud, "updateTriggerHook",
            "Changes or removes a trigger.", access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.change(.named($0), $0.request, $0.principal)
        },
        Route(
            .delete, "/hooks/triggers/{className}/{triggerName}", .cloud, "deleteTriggerHook", "Removes a trigger.",
            access: .desk(.developers)
        ) {
            try await $0.controllers.hooks.remove(.named($0), $0.request, $0.principal)
        },
    ]
}
