import Foundation
import NIOCore
import NIOHTTP1
import ParseProtocol

/// A third-party program from `Tests/Peers` that runs for a test, such as a mail server or a payment provider.
package final class Peer: Sendable {
    /// The port of 127.0.0.1 on which it listens; 0 for a program that does not listen.
    package let port: Int
    private let keeper: Keeper
    private let output: String

    package var url: String { "http://127.0.0.1:\(port)" }

    /// The Python interpreter with the peers' libraries.
    package static let python = "\(checkoutDirectory)/.build/peers/bin/python"

    /// Starts `Tests/Peers/<folder>/<script>` and waits until it reports that it listens.
    package static func start(
        _ script: String, _ arguments: [String] = [], in folder: String = "servers"
    ) async throws -> Peer {
        try await start([python, "-u", "\(checkoutDirectory)/Tests/Peers/\(folder)/\(script)"] + arguments)
    }

    private static func start(_ command: [String]) async throws -> Peer {
        let output = FileManager.default.temporaryDirectory.path + "/satchel-peer-\(UUID().uuidString)"
        let keeper = try Keeper(program: program, arguments: [output] + command, environment: [:], output: output)
        func port() -> Int? {
            lines(of: output).first { $0.hasPrefix("listening ") }.flatMap { Int($0.dropFirst("listening ".count)) }
        }
        do {
            try await eventually("\(command[2]) listens", within: .seconds(30)) { port() != nil }
        } catch {
            let said = lines(of: output).joined(separator: "\n")
            await keeper.finish()
            throw Command.Failed(description: "\(error)\n\(said)")
        }
        return Peer(port: port() ?? 0, keeper: keeper, output: output)
    }

    private static let program = """
        output=$1; shift
        "$@" </dev/null & pid=$!
        read -r _
        kill -KILL $pid; wait $pid; rm -f -- "$output"
        """

    private init(port: Int, keeper: Keeper, output: String) {
        self.port = port
        self.keeper = keeper
        self.output = output
    }

    /// Its reports so far, one JSON object per line.
    package func reports() -> [JSON] {
        Self.lines(of: output).compactMap { $0.hasPrefix("{") ? try? JSON(parsing: $0) : nil }
    }

    /// The number of lines written so far. Does not parse them.
    package func lineCount() -> Int {
        (FileManager.default.contents(atPath: output) ?? Data()).count { $0 == UInt8(ascii: "\n") }
    }

    /// Sends a command to `/_control/<what>` and returns the answer.
    package func control(
        _ what: String, _ order: JSON, timeout: TimeAmount = .seconds(30)
    ) async throws -> [UInt8] {
        try await HTTPConnections.send(
            .POST, "\(url)/_control/\(what)", body: order.serialized, timeout: timeout
        ).bytes
    }

    package func stop() async { await keeper.finish() }

    /// Runs `body` with a peer.
    package static func with(
        _ script: String, _ arguments: [String] = [], _ body: (Peer) async throws -> Void
    ) async throws {
        let peer = try await start(script, arguments)
        do {
            try await body(peer)
        } catch {
            await peer.stop()
            throw error
        }
        await peer.stop()
    }

    /// Complete lines only. A partly written report is ignored.
    private static func lines(of file: String) -> [String] {
        let text = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
}
