import ServiceKit

/// The crash service: reports that Sentry SDKs upload.
package enum CrashProgram {
    package static func main() async { await runService(crashPlan, build: buildCrash) }
}
