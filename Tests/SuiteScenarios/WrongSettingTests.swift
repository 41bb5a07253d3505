import TestSupport
import Testing

/// A wrong or misspelt setting stops `scripts/up` at once and leaves no process running.
struct WrongSettingTests {
    @Test(arguments: [
        (["SATCHEL_CURRENCY": "dollars"], ["refuses to start", "SATCHEL_CURRENCY", "nothing was started"]),
        (["SATCHEL_TIME_ZONE": "Berlin"], ["refuses to start", "SATCHEL_TIME_ZONE=Berlin", "nothing was started"]),
        (["SATCHEL_HISTORY": "long"], ["SATCHEL_HISTORY is not a setting"]),
        (["SATCHEL_SHOPNAME": "Ann"], ["SATCHEL_SHOPNAME is not a setting; did you mean SATCHEL_SHOP_NAME?"]),
    ])
    func isNamedAtOnce(settings: [String: String], texts: [String]) async throws {
        let start = ContinuousClock.now
        let failure = await #expect(throws: Command.Failed.self) { _ = try await Suite.start(settings: settings) }
        for text in texts { #expect(failure?.description.contains(text) == true, "\(failure?.description ?? "")") }
        // A minute is the time in which a suite has to become healthy.
        #expect(ContinuousClock.now - start < .seconds(45))
    }
}
