import Foundation
import TestSupport
import Testing

/// A library that the settings need and that cannot be loaded is reported at the start.
@Suite struct MissingLibraryTests {
    @Test(arguments: [
        ("libpq", "libpq.so.5", ["SATCHEL_DATABASE": "postgresql://127.0.0.1:1/shop"]),
        (
            "libcurl", "libcurl.so.4",
            [
                "SATCHEL_FILES_BUCKET": "pictures", "SATCHEL_FILES_BUCKET_ACCESS_KEY": "key",
                "SATCHEL_FILES_BUCKET_SECRET": "secret",
            ]
        ),
    ])
    func theStartNamesTheLibrary(library: String, file: String, settings: [String: String]) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/satchel-lib-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The loader finds an empty file before the library.
        try Data().write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
        let others = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
        let environment = settings.merging([
            "LD_LIBRARY_PATH": folder + others, "SATCHEL_DATA": folder,
        ]) { $1 }
        let failure = await #expect(throws: Command.Failed.self) {
            _ = try await Command.run(
                ["\(checkoutDirectory)/.build/release/catalog"], environment: environment)
        }
        let text = failure?.description ?? ""
        #expect(text.contains("ended with 78") && text.contains("\(library) cannot be loaded"))
    }
}
