import ServiceKit

/// The analytics service: events that apps report, and sales.
package enum AnalyticsProgram {
    package static func main() async { await runService(analyticsPlan, build: buildAnalytics) }
}
