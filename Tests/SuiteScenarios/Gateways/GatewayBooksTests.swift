import ParseProtocol
import TestSupport
import Testing

/// Each gateway has its own report of the books, and the balancer gives each request to another one.
@Suite(.serialized) struct GatewayBooksTests {
    @Test(.timeLimit(.minutes(10))) func verifyShowsTheReportOfItsOwnCheck() async throws {
        try await Suite.with(scale: "gateway=2") { suite in
            let master = ParseClient.master(suite)
            for _ in 0..<4 {
                let begun = Timestamp.now
                let script = #""$0" --json 2>/dev/null || test $? -le 2"#
                let text = try await suite.command(["bash", "-c", script, "\(checkoutDirectory)/scripts/verify"])
                let at = try #require(try JSON(parsing: text)["at"]?.stringValue, "\(text)")
                #expect(at >= begun.iso, "It is the report of an earlier check.")
            }
            for name in ["gateway-1", "gateway-2", "gateway-1", "gateway-1", "gateway-2", "gateway-2"] {
                let books = try await master.get("/operations/books?gateway=\(name)").json
                #expect(books["gateway"]?.stringValue == name)
            }
        }
    }
}
