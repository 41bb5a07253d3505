import ServiceKit

/// The analytics service: what apps report and what was sold.
@main
struct Analytics {
    static func main() async { await runService(analyticsPlan, build: buildAnalytics) }
}
