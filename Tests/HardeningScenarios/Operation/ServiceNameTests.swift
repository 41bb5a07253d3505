import Foundation
import TestSupport
import Testing

/// The executable of all services knows its service by the link's name or by its first argument.
@Suite struct ServiceNameTests {
    private let program = "\(checkoutDirectory)/.build/release/satchel"

    @Test func anArgumentNamesTheService() async throws {
        let file = FileManager.default.temporaryDirectory.path + "/satchel-keys-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        _ = try await Command.run([program, "gateway", "make-bus-keys", file])
        #expect(FileManager.default.fileExists(atPath: file))
    }

    @Test(arguments: [[], ["nothing"]]) func withoutANameItSaysWhatToDo(arguments: [String]) async throws {
        let failure = await #expect(throws: Command.Failed.self) {
            _ = try await Command.run([program] + arguments)
        }
        let text = failure?.description ?? ""
        #expect(text.contains("ended with 64") && text.contains("catalog"))
    }
}
