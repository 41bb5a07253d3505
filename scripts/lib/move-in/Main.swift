import ArgumentParser
import Foundation
import Outbound
import ParseProtocol

/// `satchel-move-in`: moves the data of a Parse app into a running suite, proves that, and moves it out again
/// (`satchel-move-in out`). scripts/move-in and scripts/move-out run it.
@main struct MoveIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-move-in", abstract: "Moves the data of a Parse app in.",
        discussion: """
            Without an option that names another step, stages the rows of SOURCE that are new or changed. The suite's \
            address is in SATCHEL_MOVE_URL, its keys in SATCHEL_APP_ID and SATCHEL_MASTER_KEY.

            Ends with 0, with 1 when there are conflicts, refused rows or differences, with 2 when nothing was done.
            """)

    @Argument(help: "postgresql://…, - to read that from standard input, https://…/parse, a dump file, or a folder.")
    var source: String?
    @Option(help: "The prefix of the collections' names in MongoDB.") var prefix = ""
    @Option(help: "The old server's files: a folder, s3://bucket/prefix, or an https:// prefix that allows reading.")
    var files: [String] = []
    @Option(help: "A JSON file that renames and skips classes and fields, and rounds numbers.") var map: String?
    @Flag(help: "The step; without one, rows are staged.") var step: Step?
    @Flag(help: "Un-stages classes that SOURCE lacks; otherwise these end the run.") var dropClasses = false
    @Flag(help: "Prints the report of a dry run or a proof as JSON.") var json = false
    @Option(help: "The seed of a proof's queries, to repeat them.") var seed: UInt64?

    enum Step: String, EnumerableFlag {
        case dryRun, verify, rehearse, `switch`, undo, status

        static func help(for step: Step) -> ArgumentHelp? {
            switch step {
            case .dryRun: "Reads everything, sends nothing, and lists conflicts."
            case .verify: "Reads everything and compares it with what is staged, or with the suite after the switch."
            case .rehearse: "Applies what is staged and takes it back, to show what the switch would refuse."
            case .switch: "Rehearses, makes what is staged visible, and applies Config and webhooks."
            case .undo: "Drops everything that is staged."
            case .status: "Prints what is staged and how far a switch is."
            }
        }

        /// Whether the step reads the old server.
        var needsSource: Bool { [.dryRun, .verify, .switch].contains(self) }
    }

    func validate() throws {
        guard source != nil || step?.needsSource == false else { throw ValidationError("SOURCE is missing.") }
        guard !json || step == .dryRun || step == .verify else {
            throw ValidationError("--json belongs to --dry-run and --verify.")
        }
        guard !dropClasses || step == nil else { throw ValidationError("--drop-classes belongs to staging.") }
        guard seed == nil || step == .verify else { throw ValidationError("--seed belongs to --verify.") }
    }

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let isOut = arguments.first == "out"
        do {
            if isOut {
                let command = try MoveOut.parse(Array(arguments.dropFirst()))
                try await command.run()
            } else {
                let command = try parse(arguments)
                try await command.run()
            }
        } catch {
            let isHelp = exitCode(for: error).isSuccess
            let isOwn = error is MoveInError || error is SuiteRefusal || error is NoAnswer
            let usage = isOut ? MoveOut.fullMessage(for: error) : fullMessage(for: error)
            let text = isOwn ? "satchel-move-in: \(error)" : usage
            let output = isHelp ? FileHandle.standardOutput : .standardError
            if !text.isEmpty { output.write(Data((text + "\n").utf8)) }
            Foundation.exit(isHelp ? 0 : (error as? ExitCode)?.rawValue ?? 2)
        }
    }

    func run() async throws {
        let suite = try SuiteClient.ofEnvironment()
        switch step {
        case .undo:
            try await suite.drop()
            Self.say("Nothing is staged.")
        case .status: Self.say(try await suite.state().text)
        case .rehearse: try await turn(suite, rehearses: true)
        case .switch:
            // Opened first: a source that cannot be read must not be found out after the switch.
            let old = try await openedSource(), mapping = try mapping()
            try mapping.check(try await old.classes())
            let lacking = LackingFiles()
            let mover = try fileMover(for: suite) { await lacking.add($0) }
            // An earlier run may have been interrupted.
            if try await !SwitchRun.isSwitched(suite) {
                // A service that refuses rows would leave those before it switched.
                try await turn(suite, rehearses: true)
                try await turn(suite, rehearses: false)
            } else {
                Self.say("Everything is switched already.")
            }
            var refused = try await Settings.apply(
                from: old, mapping, to: suite, withFiles: { try await mover.moved($0) })
            refused += await lacking.examples
            guard refused.isEmpty else {
                Self.say((["These settings were not applied as they are:"] + refused).joined(separator: "\n  "))
                throw ExitCode(1)
            }
        case .dryRun:
            let mover = try fileMover(for: suite, sends: false) { _ in }
            let code = ProcessInfo.processInfo.environment["SATCHEL_CURRENCY"]
            let currency = code.flatMap { try? Currency($0) } ?? .standard
            let report = try await DryRun(
                source: try await openedSource(), suite: suite, mapping: try mapping(), files: mover,
                currency: currency
            ).run()
            Self.say(json ? report.json.serializedText : report.text)
            if report.hasConflicts { throw ExitCode(1) }
        case .verify:
            let report = try await proof(suite)
            Self.say(json ? report.json.serializedText : report.text)
            if !report.isProven { throw ExitCode(1) }
        case nil: try await stage(suite)
        }
    }

    private func stage(_ suite: SuiteClient) async throws {
        let folder = FileManager.default.currentDirectoryPath
        let refusals = RefusalFile(path: "\(folder)/move-in-refused.ndjson")
        let mover = try fileMover(for: suite) { try await refusals.add($0) }
        let run = MoveRun(
            source: try await openedSource(), suite: suite, mapping: try mapping(), refusals: refusals, files: mover,
            dropsClasses: dropClasses)
        let results = try await run.run()
        let report = RunReport(results, refusalPath: refusals.path, files: await mover.figures)
        Self.say(report.text)
        if await report.refused + mover.figures.lacking > 0 { throw ExitCode(1) }
    }

    private func proof(_ suite: SuiteClient) async throws -> VerifyReport {
        let lacking = LackingFiles()
        let mover = try fileMover(for: suite, stores: false) { await lacking.add($0) }
        var report = try await VerifyRun(
            source: try await openedSource(), suite: suite, mapping: try mapping(),
            seed: seed ?? UInt64(UInt32.random(in: .min ... .max)), withFiles: { try await mover.moved($0) }
        ).run()
        report.equalFiles = await mover.figures.unchanged
        (report.lackingFiles, report.fileExamples) = await (lacking.count, lacking.examples)
        return report
    }

    /// - Parameters:
    ///   - sends: false for a dry run.
    ///   - stores: false for a proof, which compares with the files that the suite has.
    private func fileMover(
        for suite: SuiteClient, sends: Bool = true, stores: Bool = true,
        lack: @escaping @Sendable (RefusedRow) async throws -> Void
    ) throws -> FileMover {
        let http = PatientHTTP(OutboundClient())
        let client = FileSuiteClient(
            url: suite.url, applicationId: suite.applicationId, masterKey: suite.masterKey, http: http)
        let target: any FileSuite = stores ? client : StoredFiles(suite: client)
        let shelves = try FileShelves.open(files, source: source ?? "", http: http)
        return FileMover(shelves: shelves, suite: target, sends: sends, lack: lack)
    }

    private func turn(_ suite: SuiteClient, rehearses: Bool) async throws {
        let state = try await SwitchRun(suite: suite, rehearses: rehearses).run()
        Self.say(state.text)
        guard state.phase != .failed, state.failed == 0, rehearses || state.phase == .switched else {
            throw ExitCode(1)
        }
    }

    private func openedSource() async throws -> any OldServer {
        guard source != "-" else {
            guard let line = readLine(), !line.isEmpty else {
                throw MoveInError("There is no connection string on standard input.")
            }
            return try await Sources.open(line, prefix: prefix)
        }
        return try await Sources.open(source ?? "", prefix: prefix)
    }

    private func mapping() throws -> Mapping {
        guard let map else { return Mapping() }
        guard let bytes = FileManager.default.contents(atPath: map) else { throw MoveInError("Cannot read \(map).") }
        let json: JSON
        do { json = try JSON(parsing: [UInt8](bytes)) } catch { throw MoveInError("\(map) is no JSON: \(error)") }
        return try Mapping(json: json)
    }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
