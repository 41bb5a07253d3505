import ServiceKit

/// The crash service: reports that Sentry SDKs upload.
@main
struct Crash {
    static func main() async throws { try await runService(crashPlan, build: buildCrash) }
}
