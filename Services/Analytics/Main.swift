import ServiceKit

/// The analytics service: events that apps report, and sales.
@main
struct Analytics {
    static func main() async { await runService(analyticsPlan, build: buildAnalytics) }
}
