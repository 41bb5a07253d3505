import MessageBus
import ProcessKit

/// Runs the service until SIGTERM or SIGINT. It has no database, and its files are the same in every replica: any
/// replica answers any request.
func runWeb() async throws {
    let configuration = try WebConfiguration(.environment)
    let logger = configuration.start.makeLogger(configuration.replica)
    let exporter = configuration.start.exportSpans(of: configuration.replica, logger)
    let answers = try WebAnswers(configuration)
    let bus = try BusEndpoint(
        configuration: configuration.bus, service: WebAnswers.service, replica: configuration.replica,
        release: satchelRelease, laneCount: configuration.laneCount, logger: logger)
    // `/health` and the scripts require a writer of each service.
    bus.setWriter(true)
    let end = await ProcessEnd.bySignal()
    try await bus.start { _ in WebLane(answers) }
    logger.notice("Ready.", metadata: ["service": "\(WebAnswers.service)", "release": "\(satchelRelease)"])
    await end.wait()
    // The lanes answer requests at once, so that no request is left when the gateways have confirmed this.
    await bus.leave(within: .seconds(1))
    bus.stop()
    logger.notice("Stopped.")
    await exporter?.export(timeout: SpanExporter.lastTimeout)
}
