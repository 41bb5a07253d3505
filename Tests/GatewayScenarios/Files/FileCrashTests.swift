import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Files when processes die and disk writes fail. Each test has its own suite.
@Suite(.serialized) struct FileCrashTests {
    /// The catalog is killed during uploads: acknowledged files exist and are complete, and no others are visible.
    @Test(.timeLimit(.minutes(10))) func acknowledgedUploadsSurviveKills() async throws {
        try await Suite.with(scale: "catalog=2") { suite in
            try await suite.untilHealthy(replicas: ["catalog": 2])
            let client = ParseClient.master(suite)
            let uploads = Task {
                var kept: [(name: String, content: [UInt8])] = []
                while !Task.isCancelled {
                    let content = [UInt8](repeating: UInt8.random(in: 0...255), count: Int.random(in: 1...2_000_000))
                    let answer = try? await client.upload(content, as: "a.bin", type: nil)
                    if let answer, answer.status == 201 { kept.append((answer.json.text("name"), content)) }
                }
                return kept
            }
            for replica in ["catalog-1", "catalog-2", "catalog-1", "catalog-2"] {
                let before = try await Self.storedCount(suite)
                try await eventually("files are stored") { try await Self.storedCount(suite) >= before + 3 }
                try await suite.kill(replica)
                try await suite.untilHealthy(replicas: ["catalog": 2])
            }
            uploads.cancel()
            let kept = await uploads.value
            #expect(kept.count > 4)
            for (name, content) in kept {
                #expect(try await client.download(client.path(of: name)).body == content, "\(name)")
            }
            let rows = try await suite.rows("catalog", "SELECT name, size FROM files")
            for row in rows {
                let name = row.at(0)?.stringValue ?? ""
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: "\(suite.dataDirectory)/files/\(name.prefix(2))/\(name)")
                #expect((attributes[.size] as? NSNumber)?.int64Value == row.at(1)?.intValue)
            }
        }
    }

    private static func storedCount(_ suite: Suite) async throws -> Int64 {
        try await suite.rows("catalog", "SELECT count(*) FROM files").first?.at(0)?.intValue ?? 0
    }

    /// The catalog hangs in the middle of a download, for longer than a read waits for it.
    @Test(.timeLimit(.minutes(5))) func aDownloadOutlastsAnOutage() async throws {
        try await Suite.with(settings: Suite.withoutWatchdog) { suite in
            let client = ParseClient.master(suite)
            // More than the buffers of both sockets.
            let content = [UInt8](repeating: 7, count: 9 << 20)
            let name = try await client.upload(content, as: "a.bin", type: nil).json.text("name")
            let connection = try RawConnection(suite)
            connection.send(head: "GET /parse/files/satchel/\(name) HTTP/1.1\nHost: x\nConnection: close")
            var text = try #require(connection.read(within: 5000))
            let catalog = try #require(suite.processId(of: "catalog-1"))
            #expect(kill(catalog, SIGSTOP) == 0)
            defer { _ = kill(catalog, SIGCONT) }
            let meter = StallMeter()
            while meter.elapsed < .seconds(10) {
                text += connection.read(within: 10, max: 1 << 20) ?? ""
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(kill(catalog, SIGCONT) == 0)
            while let more = connection.read(within: 20_000, max: 1 << 20), !more.isEmpty { text += more }
            #expect(text.utf8.count(where: { $0 == 7 }) == content.count)
        }
    }

    /// A file without a row is not served, and the next writer removes it.
    @Test(.timeLimit(.minutes(10))) func whatACrashLeftIsSwept() async throws {
        try await Suite.with { suite in
            let client = ParseClient.master(suite)
            #expect(try await client.upload([1], as: "a.bin", type: nil).status == 201)
            let name = "00" + String(repeating: "1", count: 30) + "_half.bin"
            let files = suite.dataDirectory + "/files"
            try FileManager.default.createDirectory(atPath: "\(files)/00", withIntermediateDirectories: true)
            let old = [FileAttributeKey.modificationDate: Date(timeIntervalSinceNow: -60)]
            for path in ["\(files)/00/\(name)", "\(files)/incoming/unfinished"] {
                #expect(FileManager.default.createFile(atPath: path, contents: Data([1])))
                try FileManager.default.setAttributes(old, ofItemAtPath: path)
            }
            #expect(try await client.download(client.path(of: name)).status == 404)
            try await suite.kill("catalog-1")
            try await eventually("both are removed") {
                !FileManager.default.fileExists(atPath: "\(files)/00/\(name)")
                    && !FileManager.default.fileExists(atPath: "\(files)/incoming/unfinished")
            }
        }
    }

    /// A file-size limit simulates the full disk: the write fails halfway.
    @Test(.timeLimit(.minutes(10))) func aFullDiskIsAnAnswerAndLeavesNothing() async throws {
        try await Suite.with { suite in
            let client = ParseClient.master(suite)
            let content = [UInt8](repeating: 7, count: 3_000_000)
            let pid = try #require(suite.processId(of: "catalog-1"))
            _ = try await Command.run(["/usr/bin/prlimit", "--pid", "\(pid)", "--fsize=1000000:"])
            let refused = try await client.upload(content, as: "a.bin", type: nil)
            #expect(refused.status == 400, "\(refused.text)")
            #expect(refused.code == 130, "\(refused.text)")
            let files = FileManager.default.enumerator(atPath: suite.dataDirectory + "/files")?.compactMap {
                $0 as? String
            }
            #expect(files == ["incoming"], "\(files ?? [])")
            _ = try await Command.run(["/usr/bin/prlimit", "--pid", "\(pid)", "--fsize=unlimited:"])
            #expect(suite.processId(of: "catalog-1") == pid, "The process lives.")
            #expect(try await client.upload(content, as: "a.bin", type: nil).status == 201)
        }
    }

    @Test(.timeLimit(.minutes(10))) func whoMayUploadIsASetting() async throws {
        let settings = [
            "SATCHEL_FILE_UPLOAD": "public", "SATCHEL_FILE_BYTES_MAX": "1000",
            "SATCHEL_PUBLIC_URL": "https://shop.example/api", "SATCHEL_APP_ID": "satchel",
        ]
        try await Suite.with(settings: settings) { suite in
            let client = ParseClient(suite)
            let escaped = try await client.upload([1], as: "a%20b.txt", type: nil)
            #expect(escaped.status == 201, "\(escaped.text)")
            let name = escaped.json.text("name").replacingOccurrences(of: " ", with: "%20")
            #expect(escaped.json.text("url") == "https://shop.example/api/files/satchel/\(name)")
            #expect(try await client.download("/files/satchel/\(name)").body == [1])
            #expect(try await client.upload([UInt8](repeating: 1, count: 1001), as: "a.bin", type: nil).code == 129)
        }
    }
}
