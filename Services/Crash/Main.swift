import ServiceKit

/// The crash service: reports that Sentry SDKs upload.
@main
struct Crash {
    static func main() async { await runService(crashPlan, build: buildCrash) }
}
