import Foundation
import ProcessKit
import Testing

/// Child programs that inherit only what they are given.
struct SpawnedProgramTests {
    /// Sockets, because they are made with `O_CLOEXEC`: a program that another test starts at this moment does not keep
    /// an end open.
    private func pipe() throws -> (reading: FileHandle, writing: FileHandle) {
        var ends: [Int32] = [-1, -1]
        let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        try #require(status == 0)
        return (
            FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
            FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        )
    }

    /// A script's outputs and its end.
    private func run(
        _ script: String, _ environment: [String] = []
    ) throws -> (text: String, end: SpawnedProgram.End?) {
        let (reading, writing) = try pipe()
        let program = try SpawnedProgram(
            ["/bin/sh", "-c", script], environment: environment,
            descriptors: [.nothingToRead, .ours(writing.fileDescriptor), .same(1)])
        try writing.close()
        let text = String(decoding: try reading.readToEnd() ?? Data(), as: UTF8.self)
        return (text, program.wait())
    }

    @Test func environmentAndOutputsAreThoseThatWereGiven() throws {
        let answer = try run("cat; echo $NAME; echo problem >&2; exit 3", ["NAME=value"])
        #expect(answer.text == "value\nproblem\n")
        #expect(answer.end == .status(3))
    }

    @Test func whatClosesByItselfIsNotLeft() throws {
        // A descriptor number that no shell uses.
        let (reading, _) = try pipe()
        let descriptor = withExtendedLifetime(reading) { fcntl($0.fileDescriptor, F_DUPFD_CLOEXEC, 200) }
        defer { close(descriptor) }
        let answer = try run("for f in /proc/$$/fd/*; do echo ${f##*/}; done")
        let numbers = answer.text.split(separator: "\n").compactMap { Int32($0) }
        #expect(Set(numbers).isSuperset(of: [0, 1, 2]))
        try #require(descriptor >= 200)
        #expect(!numbers.contains(descriptor))
    }

    @Test func signalsAreNeitherBlockedNorIgnored() throws {
        // Replaces the shell, which blocks signals while it starts another program.
        let answer = try run("exec grep -E '^Sig(Blk|Ign)' /proc/self/status")
        let masks = answer.text.split(separator: "\n").compactMap { $0.split(separator: "\t").last }
            .compactMap { UInt64($0, radix: 16) }
        // The C library uses the two signals after the first 31.
        #expect(masks.map { $0 & 0x7FFF_FFFF } == [0, 0], "\(answer.text)")
    }

    @Test func whatAProgramStartedEndsWithItsGroup() throws {
        let (reading, writing) = try pipe()
        let program = try SpawnedProgram(
            ["/bin/sh", "-c", "sleep 600 & echo; wait"], environment: ["PATH=/usr/bin:/bin"],
            descriptors: [.nothingToRead, .ours(writing.fileDescriptor), .nowhere], leadsGroup: true)
        try writing.close()
        #expect(try reading.read(upToCount: 1) == Data("\n".utf8))
        program.kill()
        // The pipe ends when no process has the other end open.
        #expect(try reading.readToEnd() ?? Data() == Data())
        #expect(program.wait() == .signal(SIGKILL))
        #expect(program.wait() == nil, "It was waited for.")
    }

    @Test func filesAreMadeForTheirUserAndAddedToWhereThatIsAsked() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("spawned-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        for (adds, text) in [(false, "one\n"), (true, "one\none\n"), (false, "one\n")] {
            let program = try SpawnedProgram(
                ["/bin/echo", "one"], environment: [],
                descriptors: [.nothingToRead, .file(path, adds: adds), .nowhere])
            #expect(program.wait() == .status(0))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func whatIsNotThereIsNamed() {
        #expect(throws: SpawnedProgram.Failure(step: "/nowhere/program", number: ENOENT)) {
            try SpawnedProgram(["/nowhere/program"], environment: [], descriptors: [])
        }
    }
}
