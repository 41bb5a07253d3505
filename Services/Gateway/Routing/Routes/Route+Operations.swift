import Messages

/// The routes about the running suite: for the master key and for sessions of operators.
extension Route {
    static let operations: [Route] = [
        operation("settings", "getSettingsInForce", "The settings that each process runs with, without secrets.") {
            try await $0.controllers.operations.settings($0.request)
        },
        operation("metrics", "getMetrics", "Counts since the start, by process, and what waits now.", area: .developers)
        {
            await $0.controllers.operations.metrics($0.request, $0.router.meter.times)
        },
        operation(
            "history", "getFigureHistory", "The figures of the last hours by minute, or of the last days by hour.",
            area: .developers
        ) {
            try await $0.controllers.operations.history($0.request)
        },
        operation(
            "shadow", "getShadowReport", "Where the old server's answers to a share of the reads differ.",
            area: .developers
        ) {
            $0.controllers.operations.shadowReport()
        },
        operation(
            "shadow", "resetShadowReport", "Begins the counts of these differences anew.", .delete, area: .developers
        ) {
            $0.controllers.operations.resetShadow()
        },
        operation("log", "followLog", "Lines of the log, and those that came since.", area: .developers) {
            try await $0.controllers.logs.follow($0.request)
        },
        operation("functions", "listFunctions", "Functions of the suite and of cloud code.", area: .developers) {
            try await $0.controllers.operations.functions($0.request)
        },
        operation("jobs", "listJobRuns", "Runs of jobs, the newest first.", area: .developers) {
            try await $0.controllers.operations.jobRuns($0.request)
        },
        operation("config", "getWholeConfig", "The parameters of the app, those for the master key as well.") {
            try await $0.controllers.operations.config($0.request)
        },
        operation("books", "getBooks", "The last check of the books by this gateway.") {
            $0.controllers.operations.books()
        },
        operation("books", "checkBooks", "Starts a check of the books, unless one is running.", .post) {
            $0.controllers.operations.checkBooks()
        },
        operation("backups", "listBackups", "The last backups, as scripts/backup noted them.") {
            await $0.controllers.operations.backups()
        },
        Route(
            .get, "/operations/parked", .system, "listParked",
            "Work that was refused for good: mails, messages between services, refunds, pushes."
        ) {
            try await $0.controllers.parked.list($0.request, $0.principal)
        },
        Route(.post, "/operations/parked/retry", .system, "retryParked", "Has such work done again.") {
            try await $0.controllers.parked.change(.retry, $0.request, $0.principal)
        },
        Route(.post, "/operations/parked/drop", .system, "dropParked", "Gives such work up.") {
            try await $0.controllers.parked.change(.drop, $0.request, $0.principal)
        },
        Route(.post, "/mails/{mailId}", .system, "showMail", "A mail as a page.", access: .desk(.support)) {
            try await $0.controllers.mails.page($0["mailId"], $0.request, $0.principal)
        },
    ]

    /// - Parameter area: the operators that may call the route. A route that shows more than `/scriptlog`,
    ///   `/serverInfo` and the classes of jobs is for admins alone.
    private static func operation(
        _ name: String, _ id: String, _ summary: String, _ method: ParseRequest.Method = .get,
        area: OperatorArea = .admins, handler: @escaping Handler
    ) -> Route {
        Route(method, "/operations/\(name)", .system, id, summary) { call in
            try Transfers.requireOperator(call.principal, of: area)
            return try await handler(call)
        }
    }
}
