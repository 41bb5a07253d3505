import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Files that move between the disk and a bucket while the shop runs, and which of them a backup contains.
@Suite(.serialized) struct BucketMoveTests {
    /// Copies the data of a stopped suite for another suite.
    private static func copy(of suite: Suite) throws -> String {
        let copy = FileManager.default.temporaryDirectory.path + "/bucket-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: suite.dataDirectory)
        where name.hasSuffix(".sqlite") || name.hasSuffix(".key") || name.hasSuffix(".password") || name == "files" {
            try FileManager.default.copyItem(atPath: "\(suite.dataDirectory)/\(name)", toPath: "\(copy)/\(name)")
        }
        return copy
    }

    private static func onDisk(_ suite: Suite) -> [String] {
        let files = FileManager.default.enumerator(atPath: suite.dataDirectory + "/files")
        return (files?.compactMap { $0 as? String } ?? []).filter { $0.contains("_") }
    }

    private static func expectAll(_ files: [String: [UInt8]], _ suite: Suite) async throws {
        let client = ParseClient(suite)
        for (name, content) in files {
            let answer = try await client.download(client.path(of: name))
            #expect(answer.status == 200, "\(name)")
            #expect(answer.body == content, "\(name)")
        }
    }

    /// Every file is complete at each check, even though the writer is killed during the move.
    @Test(.timeLimit(.minutes(10))) func filesMoveIntoTheBucketThroughAKillAndComeHome() async throws {
        try await BucketPeer.with { bucket in
            var files: [String: [UInt8]] = [:]
            var copies: [String] = []
            defer { for copy in copies { try? FileManager.default.removeItem(atPath: copy) } }
            // Each suite starts with a copy of the previous suite's folder.
            try await Suite.with(settings: Suite.inFiles) { suite in
                let client = ParseClient.master(suite)
                for number in 0..<12 {
                    let content = [UInt8](repeating: UInt8(number), count: 200_000)
                    let upload = try await client.upload(content, as: "\(number).bin", type: nil)
                    try #require(upload.status == 201, "\(upload.text)")
                    files[upload.json.text("name")] = content
                }
                try await suite.down()
                copies.append(try Self.copy(of: suite))
            }
            // A file every 3.3 seconds: the first ones move while the suite starts.
            let slow = ["SATCHEL_FILES_BUCKET_MOVE_BYTES": "60000", "SATCHEL_FILE_CACHE": "0"]
            try await Suite.with(settings: bucket.settings.merging(slow) { $1 }, data: copies[0]) { suite in
                try await eventually("some have moved") { try await bucket.objects().count >= 3 }
                #expect(!Self.onDisk(suite).isEmpty, "Others have not.")
                try await suite.kill("catalog-1")
                try await suite.untilHealthy()
                try await eventually("all have moved", within: .seconds(60)) {
                    try await Self.expectAll(files, suite)
                    return try await suite.rows("catalog", "SELECT 1 FROM files WHERE inBucket = 0").isEmpty
                }
                try await eventually("the disk has nothing of them") { Self.onDisk(suite).isEmpty }
                try await Self.expectAll(files, suite)
                #expect(try await bucket.objects().count == files.count)
                try await suite.down()
                copies.append(try Self.copy(of: suite))
            }
            let back = ["SATCHEL_FILES_BUCKET_MOVES": "back", "SATCHEL_FILE_CACHE": "0"]
            try await Suite.with(settings: bucket.settings.merging(back) { $1 }, data: copies[1]) { suite in
                try await eventually("all are home", within: .seconds(60)) {
                    try await Self.expectAll(files, suite)
                    return try await suite.rows("catalog", "SELECT 1 FROM files WHERE inBucket = 1").isEmpty
                }
                #expect(Self.onDisk(suite).count == files.count)
                try await suite.down()
                copies.append(try Self.copy(of: suite))
            }
            try await Suite.with(data: copies[2]) { try await Self.expectAll(files, $0) }
        }
    }

    @Test(.timeLimit(.minutes(10))) func withoutItsBucketTheCatalogDoesNotStart() async throws {
        try await Suite.with { suite in
            let client = ParseClient.master(suite)
            let upload = try await client.upload([1], as: "a.bin", type: nil)
            try #require(upload.status == 201, "\(upload.text)")
            try await suite.tamper("catalog", "UPDATE files SET inBucket = 1")
            // The next process ends too soon for the test to see it.
            let process = try #require(suite.processId(of: "catalog-1"))
            try #require(kill(process, SIGKILL) == 0)
            try await eventually("its log says why") {
                suite.logTails().contains("SATCHEL_FILES_BUCKET is not set")
            }
        }
    }

    /// Files in the bucket are missing from the backup, and the backup reports that. Files on the disk are included.
    @Test(.timeLimit(.minutes(10))) func aBackupTellsWhatItDoesNotHave() async throws {
        try await BucketPeer.with { bucket in
            let moves = Suite.inFiles.merging(["SATCHEL_FILES_BUCKET_MOVES": "none"]) { $1 }
            try await Suite.with(settings: bucket.settings.merging(moves) { $1 }) { suite in
                let client = ParseClient.master(suite)
                let upload = try await client.upload([1, 2, 3], as: "a.bin", type: nil)
                try #require(upload.status == 201, "\(upload.text)")
                let folder = FileManager.default.temporaryDirectory.path + "/backup-\(Names.random(8))"
                defer { try? FileManager.default.removeItem(atPath: folder) }
                _ = try await suite.script("backup", folder)
                let manifest = FileManager.default.contents(atPath: folder + "/manifest.json") ?? Data()
                let content = try JSON(parsing: Array(manifest))
                #expect(content["bucketFiles"] == 1)
                #expect(content["lostFiles"] == [])
                let paths = (content["files"]?.arrayValue ?? []).compactMap { $0["path"]?.stringValue }
                #expect(!paths.contains { $0.hasPrefix("files/") }, "\(paths)")
                _ = try await suite.script("restore", "--check", folder)
            }
        }
    }
}
