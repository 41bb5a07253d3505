import Foundation
import TestSupport
import Testing

/// Where the master key is visible. Id T9h of docs/internals/hardening.md.
@Suite struct OperatorKeyTests {
    /// T9h: `scripts/up` prints the same for a running suite as for a new one.
    @Test(.timeLimit(.minutes(10))) func noScriptPrintsTheMasterKey() async throws {
        try await Suite.with { suite in
            for script in [["up", "--no-build", "--no-demo"], ["status"], ["logs"]] {
                let text = try await Command.run(
                    ["\(checkoutDirectory)/scripts/\(script[0])"] + script.dropFirst(),
                    environment: ["SATCHEL_DATA": suite.dataDirectory])
                #expect(!text.contains(Suite.masterKey), "scripts/\(script[0])")
                if script[0] == "up" { #expect(text.contains("Master key  in the variable SATCHEL_MASTER_KEY")) }
            }
        }
    }
}
