import ArgumentParser
import GatewayService

/// What the gateway does for metrics and traces, and nothing else.
struct Metering: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metering", abstract: "Counts reads as the gateway does and prints microseconds per read.")

    @Option(help: "Reads that are counted.") var reads = 1_000_000
    @Flag(help: "Each read calls a service.") var service = false

    func validate() throws {
        guard (1...1_000_000_000).contains(reads) else { throw ValidationError("--reads must be 1 to 1000000000.") }
    }

    func run() {
        print(MeteringCost.nanoseconds(reads: reads, callsService: service) / 1000)
    }
}
