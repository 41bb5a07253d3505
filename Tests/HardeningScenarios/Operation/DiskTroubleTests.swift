import Foundation
import ParseProtocol
import TestSupport
import Testing

/// System calls on a service's files fail: the service names the file and the remedy in one line, reads on, and stores
/// again by itself when the cause is gone.
@Suite(.serialized) struct DiskTroubleTests {
    /// A library that lets system calls on some files fail, as a file says.
    private static let source = checkoutDirectory + "/scripts/lib/chaos/disk.c"

    /// A fault, the messages about it for clients and operators, and a word of the remedy.
    struct Fault: Sendable, CustomTestStringConvertible {
        let code: Int32
        let text: String
        let remedy: String

        static let full = Fault(code: ENOSPC, text: "The disk is full.", remedy: "df -h")
        static let readOnly = Fault(code: EROFS, text: "The disk or the file is read-only.", remedy: "remount,rw")
        static let failing = Fault(code: EIO, text: "The disk fails.", remedy: "dmesg")
        static let forbidden = Fault(
            code: EACCES, text: "A file has the wrong owner or permissions.", remedy: "chown")

        var testDescription: String { text }
    }

    /// Runs `body` with its own suite. `fail` sets the faulty calls, as disk.c describes; nil ends the fault.
    private static func withDisk(
        _ body: (_ suite: Suite, _ fail: (String?) throws -> Void) async throws -> Void
    ) async throws {
        let folder = "/tmp/satchel-disk-\(Names.random(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try await Command.run(["clang", "-shared", "-fPIC", "-O1", "-o", folder + "/disk.so", source])
        let file = folder + "/fault"
        let settings = Suite.inFiles.merging(["LD_PRELOAD": folder + "/disk.so", "DISK_FILE": file]) { $1 }
        try await Suite.with(settings: settings) { suite in
            try await body(suite) { fault in
                if let fault {
                    try fault.write(toFile: file, atomically: true, encoding: .utf8)
                } else {
                    try FileManager.default.removeItem(atPath: file)
                }
            }
        }
    }

    /// The lines in which a service says that it cannot store.
    private static func lines(_ suite: Suite, _ fault: Fault) -> [Substring] {
        suite.logTails(lines: 1000) {
            $0.contains("The service cannot write to its database.") && $0.contains(fault.text)
        }
        .split(separator: "\n").filter { !$0.hasPrefix("--- ") }
    }

    private static func catalogSays(_ fault: Fault, _ client: ParseClient) async throws -> Bool {
        let health = try await client.get("/health")
        let catalog = health["services"]?["catalog"]
        return health.status == 503 && health["status"] == "failing" && catalog?["status"] == "failing"
            && catalog?["problem"]?.stringValue == fault.text
    }

    @Test(.timeLimit(.minutes(10))) func aDiskThatFailsWhileTheServiceRunsIsNamedOnce() async throws {
        try await Self.withDisk { suite, fail in
            let client = ParseClient(suite)
            let kept = try await client.create("Thing", ["a": 1])
            #expect(kept.status == 201, "\(kept.text)")
            let process = suite.processId(of: "catalog-1")
            for fault in [Fault.full, .readOnly, .failing] {
                try fail("\(fault.code) write /catalog.")
                for _ in 0..<3 {
                    let refused = try await client.create("Thing", ["a": 2])
                    #expect(refused.status == 503 && refused.code == 2, "\(fault): \(refused.text)")
                    #expect(refused.text.contains(fault.text), "\(refused.text)")
                    expectNoInternalText(refused)
                }
                #expect(try await client.get("/classes/Thing/\(kept.objectId)").status == 200, "Reading goes on.")
                try await eventually("health names it") { try await Self.catalogSays(fault, client) }
                let lines = Self.lines(suite, fault)
                #expect(lines.count == 1, "\(lines)")
                for word in ["/catalog.sqlite", fault.remedy] {
                    #expect(lines.first?.contains(word) == true, "\(lines)")
                }
                try fail(nil)
                try await suite.untilHealthy()
                #expect(try await client.create("Thing", ["a": 3]).status == 201)
            }
            #expect(try await client.find("Thing", [:], ["count": 1, "limit": 0])["count"] == 4)
            #expect(suite.processId(of: "catalog-1") == process, "It recovered without a restart.")
        }
    }

    /// On the full disk the file with the log's index has its blocks.
    @Test(.timeLimit(.minutes(10)), arguments: [(Fault.full, "sqlite-wal"), (.readOnly, "")])
    func aServiceThatStartsOnSuchADiskReadsAndRecovers(_ fault: Fault, _ files: String) async throws {
        try await Self.withDisk { suite, fail in
            let client = ParseClient(suite)
            let kept = try await client.create("Thing", ["a": 1])
            #expect(kept.status == 201, "\(kept.text)")
            try fail("\(fault.code) write /catalog.\(files)")
            try await suite.kill("catalog-1")
            // No answer of the gateway's cache.
            try await eventually("it reads") {
                try await client.find("Thing", ["a": ["$lt": 2]]).results.count == 1
            }
            try await eventually("health names it") { try await Self.catalogSays(fault, client) }
            let lines = Self.lines(suite, fault)
            #expect(!lines.isEmpty)
            for line in lines { #expect(line.contains("/catalog.sqlite") && line.contains(fault.remedy), "\(line)") }
            let refused = try await client.create("Thing", ["a": 2])
            #expect(refused.status != 201, "\(refused.text)")
            try fail(nil)
            try await suite.untilHealthy()
            #expect(try await client.create("Thing", ["a": 3]).status == 201)
            #expect(try await client.find("Thing", [:], ["count": 1, "limit": 0])["count"] == 2)
        }
    }

    @Test(.timeLimit(.minutes(10))) func pagesThatAreDamagedWhileTheServiceRunsAreNamed() async throws {
        try await Suite.with(settings: Suite.inFiles) { suite in
            let client = ParseClient(suite)
            let text = JSON.string("marked " + String(repeating: "x", count: 2000))
            for _ in 0..<40 { #expect(try await client.create("Leaf", ["text": text]).status == 201) }
            let other = try await client.create("Thing", ["a": 1])
            // All of the log is then in the database.
            try await suite.restart("catalog-1")
            try await suite.untilHealthy()
            let file = URL(fileURLWithPath: suite.dataDirectory + "/catalog.sqlite")
            let (content, handle) = (try Data(contentsOf: file), try FileHandle(forWritingTo: file))
            let marked = stride(from: 4096, to: content.count, by: 4096).filter {
                content[$0..<min($0 + 4096, content.count)].range(of: Data("marked ".utf8)) != nil
            }
            #expect(!marked.isEmpty)
            for page in marked {
                try handle.seek(toOffset: UInt64(page))
                handle.write(Data(repeating: 0xA5, count: 2048))
            }
            let refused = try await client.find("Leaf", [:], ["limit": 100])
            #expect(refused.status == 503 && refused.text.contains("The database is damaged."), "\(refused.text)")
            expectNoInternalText(refused)
            #expect(try await client.get("/classes/Thing/\(other.objectId)").status == 200, "Others are read.")
            try await eventually("health names it") {
                let health = try await client.get("/health")
                return health.status == 200 && health["status"] == "degraded"
                    && health["services"]?["catalog"]?["problem"]?.stringValue == "The database is damaged."
            }
            let lines = suite.logTails { $0.contains("scripts/restore") && $0.contains("/catalog.sqlite") }
            #expect(!lines.isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(10))) func filesOfAnotherOwnerAreRefusedWithTheCommand() async throws {
        try await Self.withDisk { suite, fail in
            let shelf = try await Shelf.fill(suite, names: ["Owned"], stock: 10)
            let customer = try await Customer.signUp(suite)
            _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
            let paid = try await customer.client.run(
                "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
            #expect(paid.status == 200, "\(paid.text)")
            try fail("\(Fault.forbidden.code) read /bag.sqlite")
            try await suite.kill("bag-1")
            try await eventually("the log has the command") {
                Self.lines(suite, .forbidden).contains { $0.contains("chown -R") && $0.contains("/bag.sqlite") }
            }
            try fail(nil)
            try await suite.untilHealthy()
            let master = ParseClient.master(suite)
            let orders = try await master.find("Order", ["orderStatus": 1], ["count": 1, "limit": 0])
            #expect(orders["count"] == 1, "\(orders.text)")
        }
    }
}
