import ArgumentParser
import Foundation
import NIOPosix
import SuiteClient

/// `satchel-load`: shoppers who browse and buy at a chosen rate, and measurements of the answers. scripts/load runs it.
@main
struct SatchelLoad: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "satchel-load",
        abstract: "Loads a suite with shoppers; fails when it does not keep the promise.")

    @OptionGroup var suite: SiteOptions
    @OptionGroup var plan: PlanOptions
    @Option(help: "File for the report as JSON.") var json: String?
    @Option(help: "File for the report as a page with plots.") var html: String?

    func run() async throws {
        let startedAt = Date()
        let shop = try await openShop()
        let driver = Driver(shop, shoppersMax: suite.shoppers)
        let sampler = ProcessSampler(dataDirectory: suite.data)
        let watches = [
            Task { await sampler.watch { driver.now } }, Task { await LiveProgress.watch(driver) },
        ]
        var run = LoadRun(driver, plan: plan)
        let (phases, limit) = await run.run()
        for watch in watches { watch.cancel() }
        let report = Report(
            url: suite.url, startedAt: startedAt, bounds: plan.bounds, phases: phases, record: driver.record.snapshot,
            samples: sampler.all, crowd: driver.crowd, productCount: shop.goods.productCount, limit: limit)
        try write(report)
        guard report.problems.isEmpty else { throw ExitCode.failure }
    }

    /// Reads the shop's contents and signs up the customers.
    private func openShop() async throws -> Shop {
        let mix = try Mix(file: suite.mix)
        let site = try LoadSite(
            url: suite.url, applicationId: suite.applicationId, namesAddresses: suite.forwarded)
        let group = MultiThreadedEventLoopGroup.singleton, timeout = Duration.seconds(suite.timeout)
        let reader = LoadClient(
            site, number: Self.firstOther, timeout: timeout, on: group, bodyBytesKept: Self.pageBytesMax)
        let goods = try await Goods(reader, mix: mix, masterKey: suite.masterKey)
        let accounts = try await Accounts.signUp(mix.customerShare > 0 ? suite.accounts : 0) { number in
            LoadClient(site, number: Self.firstOther + 1 + number, timeout: timeout, on: group)
        }
        return Shop(site: site, mix: mix, goods: goods, accounts: accounts, group: group, timeout: timeout)
    }

    /// The client number after the last shopper's; it also determines the client's address. 65,536 of 4 million numbers
    /// remain.
    private static let firstOther = 0x3E_FFFF
    /// A page with the names of 1,000 products is about 200 KB.
    private static let pageBytesMax = 8 << 20

    private func write(_ report: Report) throws {
        if let json { try Self.write(report.json.serializedText + "\n", to: json) }
        if let html { try Self.write(report.page, to: html) }
        FileHandle.standardOutput.write(Data((report.text + "\n").utf8))
    }

    private static func write(_ text: String, to file: String) throws {
        do { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) } catch {
            throw LoadError("Cannot write \(file): \(error)")
        }
    }
}
