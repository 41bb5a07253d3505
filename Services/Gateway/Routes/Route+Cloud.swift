/// Functions, jobs, hooks and purchases.
extension Route {
    static let cloud: [Route] = [
        Route(.post, "/functions/{functionName}", .cloud, "callFunction", "Calls a cloud function.") {
            try await $0.router.functions.call($0["functionName"], $0.request, $0.principal)
        },
        .notBuilt(.post, "/jobs", .cloud, "startNamedJob", "Starts the job that the body names.", access: .master),
        .notBuilt(.post, "/jobs/{jobName}", .cloud, "startJob", "Starts a job.", access: .master),
        .notBuilt(.get, "/cloud_code/jobs", .cloud, "listJobSchedules", "When jobs run.", access: .master),
        .notBuilt(.get, "/cloud_code/jobs/data", .cloud, "listJobs", "The jobs there are.", access: .master),
        .notBuilt(.post, "/cloud_code/jobs", .cloud, "createJobSchedule", "Plans a job.", access: .master),
        .notBuilt(.put, "/cloud_code/jobs/{objectId}", .cloud, "updateJobSchedule", "Changes a plan.", access: .master),
        .notBuilt(
            .delete, "/cloud_code/jobs/{objectId}", .cloud, "deleteJobSchedule", "Ends a plan.", access: .master),
        .notBuilt(
            .get, "/hooks/functions", .cloud, "listFunctionHooks", "The functions at other hosts.", access: .master),
        .notBuilt(.post, "/hooks/functions", .cloud, "createFunctionHook", "Adds a function.", access: .master),
        .notBuilt(
            .get, "/hooks/functions/{functionName}", .cloud, "getFunctionHook", "One function.", access: .master),
        .notBuilt(
            .put, "/hooks/functions/{functionName}", .cloud, "updateFunctionHook", "Changes or removes a function.",
            access: .master),
        .notBuilt(.get, "/hooks/triggers", .cloud, "listTriggerHooks", "The triggers at other hosts.", access: .master),
        .notBuilt(.post, "/hooks/triggers", .cloud, "createTriggerHook", "Adds a trigger.", access: .master),
        .notBuilt(
            .get, "/hooks/triggers/{className}/{triggerName}", .cloud, "getTriggerHook", "One trigger.", access: .master
        ),
        .notBuilt(
            .put, "/hooks/triggers/{className}/{triggerName}", .cloud, "updateTriggerHook",
            "Changes or removes a trigger.", access: .master),
        .notBuilt(.post, "/validate_purchase", .cloud, "validatePurchase", "Checks a purchase made in an app store."),
    ]
}
