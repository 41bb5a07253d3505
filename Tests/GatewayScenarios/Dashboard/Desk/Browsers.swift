import ParseProtocol
import TestSupport

/// The browsers of all desks: one for each flow that runs at the same time. Later flows use them again, because a start
/// takes as long as a short flow.
actor Browsers {
    static let shared = Browsers()

    private var idle: [Peer] = []

    /// Runs a flow in a browser whose earlier flows left nothing in it, and returns the report.
    func run(_ order: JSON) async throws -> JSON {
        let browser = try await take()
        do {
            let report = try JSON(parsing: try await browser.control("flow", order, timeout: .minutes(10)))
            idle.append(browser)
            return report
        } catch {
            await browser.stop()
            throw error
        }
    }

    private func take() async throws -> Peer {
        if let browser = idle.popLast() { return browser }
        return try await Peer.start("dashboard.py", in: "pages")
    }
}
