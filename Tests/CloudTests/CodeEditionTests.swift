import CloudService
import Foundation
import ParseProtocol
import Testing

/// The number that is equal for replicas that run the same code.
@Suite struct CodeEditionTests {
    /// Runs `body` with a folder of code.
    private func withFolder(_ body: (_ folder: String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "edition-\(Names.random(12))")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "lib"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try write("main", to: "main.js", in: folder.path)
        try write("part", to: "lib/part.js", in: folder.path)
        try body(folder.path)
    }

    private func write(_ text: String, to file: String, in folder: String) throws {
        try text.write(toFile: "\(folder)/\(file)", atomically: true, encoding: .utf8)
    }

    @Test func unchangedCodeKeepsItsEdition() throws {
        try withFolder { folder in
            let edition = CodeEdition.of(folder: folder)
            #expect(edition != 0)
            #expect(CodeEdition.of(folder: folder) == edition)
            try write("What the code notes.", to: "notes.txt", in: folder)
            #expect(CodeEdition.of(folder: folder) == edition, "It is no code.")
        }
    }

    @Test func anotherFileIsAnotherOne() throws {
        try withFolder { folder in
            let edition = CodeEdition.of(folder: folder)
            try write("another part", to: "lib/part.js", in: folder)
            let changed = CodeEdition.of(folder: folder)
            #expect(changed != edition)
            try write("{}", to: "more.json", in: folder)
            let added = CodeEdition.of(folder: folder)
            #expect(added != changed)
            try FileManager.default.moveItem(atPath: "\(folder)/more.json", toPath: "\(folder)/other.json")
            #expect(CodeEdition.of(folder: folder) != added)
        }
    }

    /// Also a file of the same length.
    @Test func whatAFileSaysCountsAndNotItsTime() throws {
        try withFolder { folder in
            let edition = CodeEdition.of(folder: folder)
            let later = Date(timeIntervalSinceNow: 10)
            try FileManager.default.setAttributes([.modificationDate: later], ofItemAtPath: "\(folder)/main.js")
            #expect(CodeEdition.of(folder: folder) == edition)
            try write("niam", to: "main.js", in: folder)
            #expect(CodeEdition.of(folder: folder) != edition)
        }
    }

    @Test func anotherVersionOfAModuleIsAnotherOne() throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(
                atPath: "\(folder)/node_modules/left", withIntermediateDirectories: true)
            try write(#"{"version":"1.0.0"}"#, to: "node_modules/left/package.json", in: folder)
            try write("pad", to: "node_modules/left/index.js", in: folder)
            let edition = CodeEdition.of(folder: folder)
            try write(#"{"version":"1.0.1"}"#, to: "node_modules/left/package.json", in: folder)
            let next = CodeEdition.of(folder: folder)
            #expect(next != edition)
            try write("padding", to: "node_modules/left/index.js", in: folder)
            #expect(CodeEdition.of(folder: folder) != next)
        }
    }

    /// Files that the code writes next to itself must not make replicas differ that started at different times.
    @Test func aVersionIsIdentifiedByItsFolder() throws {
        try withFolder { folder in
            let versions = "\(folder)/cloud.versions"
            for version in [1, 2] {
                try FileManager.default.createDirectory(
                    atPath: "\(versions)/\(version)", withIntermediateDirectories: true)
                try write("main", to: "cloud.versions/\(version)/main.js", in: folder)
            }
            let first = CodeEdition.of(folder: "\(versions)/1")
            #expect(CodeEdition.of(folder: "\(versions)/2") != first)
            try write("{}", to: "cloud.versions/1/notes.json", in: folder)
            #expect(CodeEdition.of(folder: "\(versions)/1") == first)
        }
    }

    /// As when each container has a copy, with a dated folder that contains the files.
    @Test func theSameFilesElsewhereAreTheSame() throws {
        try withFolder { folder in
            let edition = CodeEdition.of(folder: folder)
            let other = "\(folder)-moved"
            try FileManager.default.copyItem(atPath: folder, toPath: other)
            defer { try? FileManager.default.removeItem(atPath: other) }
            try FileManager.default.createDirectory(atPath: "\(other)/..day", withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: "\(other)/main.js", toPath: "\(other)/..day/main.js")
            try FileManager.default.createSymbolicLink(
                atPath: "\(other)/main.js", withDestinationPath: "..day/main.js")
            #expect(CodeEdition.of(folder: other) == edition)
        }
    }
}
