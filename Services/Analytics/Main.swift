import ServiceKit

/// The analytics service: what apps report and what was sold.
@main
struct Analytics {
    static func main() async throws { try await runService(analyticsPlan, build: buildAnalytics) }
}
