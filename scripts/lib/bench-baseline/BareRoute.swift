import ArgumentParser
import Hummingbird
import Logging
import NIOCore

/// Bare Hummingbird routes: the baseline of a framework's server on the same NIO.
@main
struct BareRoute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-bare-route",
        abstract: "Serves GET /bare/N, N bytes of JSON from memory, and POST /bare/events.")

    @Option var port: Int

    func run() async throws {
        let router = Router()
        router.get("bare/:bytes") { _, context in
            let count = context.parameters.get("bytes", as: Int.self) ?? 0
            let body = ByteBuffer(repeating: UInt8(ascii: "x"), count: max(0, min(count, 1 << 20)))
            return Response(
                status: .ok, headers: [.contentType: "application/json; charset=utf-8"], body: .init(byteBuffer: body))
        }
        router.post("bare/events") { request, _ in
            _ = try await request.body.collect(upTo: 1 << 20)
            return Response(
                status: .ok, headers: [.contentType: "application/json; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: "{}")))
        }
        var logger = Logger(label: "bare-route")
        logger.logLevel = .warning
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)
        try await application.runService()
    }
}
