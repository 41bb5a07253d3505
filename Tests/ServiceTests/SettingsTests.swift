import Foundation
import ParseProtocol
import ProcessKit
import ServiceKit
import TestSupport
import Testing
import UsersService

/// All processes share one parser for settings.
@Suite struct SettingsTests {
    private enum Flavour: String, CaseIterable { case sweet, sour, salty }

    private static func problem(_ work: () throws(StartupProblem) -> Void) -> String? {
        do throws(StartupProblem) {
            try work()
            return nil
        } catch {
            return error.description
        }
    }

    @Test func whatIsNotSetOrEmptyIsTheStandard() throws {
        for settings in [Settings([:]), Settings(["SATCHEL_X_Y": ""])] {
            #expect(settings["satchel.x.y"] == nil)
            #expect(settings.text("satchel.x.y", default: "a") == "a")
            #expect(try settings.number("satchel.x.y", 1...5, default: 3) == 3)
            #expect(try settings.flag("satchel.x.y", default: true))
            #expect(try !settings.flag("satchel.x.y", default: false))
            #expect(try settings.choice("satchel.x.y", default: Flavour.sour) == .sour)
            #expect(settings.list("satchel.x.y").isEmpty)
        }
    }

    @Test func whatIsSetIsRead() throws {
        func settings(_ text: String) -> Settings { Settings(["SATCHEL_X": text]) }
        #expect(try settings("5").number("satchel.x", 1...5, default: 3) == 5)
        for text in ["true", "YES", "1"] { #expect(try settings(text).flag("satchel.x", default: false), "\(text)") }
        for text in ["False", "no", "0"] { #expect(try !settings(text).flag("satchel.x", default: true), "\(text)") }
        #expect(try settings("salty").choice("satchel.x", default: Flavour.sweet) == .salty)
        #expect(settings(" a, b ,,c").list("satchel.x") == ["a", "b", "c"])
    }

    /// A mistyped number must abort startup. Formerly, some processes used the default silently.
    @Test(arguments: ["0", "6", "five", "5.0", "5 s", "0x5", "99999999999999999999"])
    func aNumberThatCannotWorkIsRefused(_ text: String) {
        let settings = Settings(["SATCHEL_X": text])
        let problem = Self.problem { () throws(StartupProblem) in
            _ = try settings.number("satchel.x", 1...5, default: 3)
        }
        #expect(problem == "SATCHEL_X=\(text) must be a whole number from 1 to 5.")
    }

    @Test func whatIsNoFlagAndNoChoiceIsRefused() {
        let settings = Settings(["SATCHEL_X": "maybe"])
        let flag = Self.problem { () throws(StartupProblem) in _ = try settings.flag("satchel.x", default: true) }
        #expect(flag == "SATCHEL_X=maybe must be true or false.")
        let choice = Self.problem { () throws(StartupProblem) in
            _ = try settings.choice("satchel.x", default: Flavour.sour)
        }
        #expect(choice == "SATCHEL_X=maybe must be sweet, sour or salty.")
    }

    @Test(arguments: [
        ("SATCHEL_LOG_LEVEL", "loud"), ("SATCHEL_LANES", "0"), ("SATCHEL_LANES", "two"),
    ])
    func everyServiceRefusesAlike(_ name: String, _ value: String) {
        let error = #expect(throws: StartupProblem.self) {
            try ServiceConfiguration(service: "x", settings: Settings([name: value, "SATCHEL_DATA": "/tmp/x"]))
        }
        #expect(error?.description.hasPrefix("\(name)=\(value) must be ") == true)
    }

    @Test(arguments: [
        ("SATCHEL_PUBLIC_USERS", "maybe"), ("SATCHEL_MFA", "sms"), ("SATCHEL_RESET_HOURS", "721"),
    ])
    func aServicesOwnSettingsAreRefusedAlike(_ name: String, _ value: String) {
        let error = #expect(throws: StartupProblem.self) { try UsersSettings(Settings([name: value])) }
        #expect(error?.description.hasPrefix("\(name)=\(value) must be ") == true)
    }

    @Test func anUnknownCurrencyEndsTheStartAndAKnownOneIsTheShops() throws {
        #expect(try Currency.ofShop(Settings([:])) == .standard)
        #expect(try Currency.ofShop(Settings(["SATCHEL_CURRENCY": "JPY"])).decimals == 0)
        let error = #expect(throws: StartupProblem.self) { try Currency.ofShop(Settings(["SATCHEL_CURRENCY": "euro"])) }
        #expect(error?.description.hasPrefix("SATCHEL_CURRENCY=euro cannot be used") == true)
    }

    @Test func anUnknownTimeZoneEndsTheStart() throws {
        #expect(try ShopZone.ofShop(Settings([:])).name == "UTC")
        #expect(try ShopZone.ofShop(Settings(["SATCHEL_TIME_ZONE": "Asia/Kathmandu"])).name == "Asia/Kathmandu")
        let error = #expect(throws: StartupProblem.self) {
            try ShopZone.ofShop(Settings(["SATCHEL_TIME_ZONE": "Berlin"]))
        }
        #expect(error?.description.hasPrefix("SATCHEL_TIME_ZONE=Berlin cannot be used") == true)
    }

    @Test func programsOfOthersGetTheVariablesThatAreNamed() {
        let settings = Settings(["PATH": "/bin", "SATCHEL_MASTER_KEY": "secret", "LANG": "C", "ERP_KEY": "other"])
        #expect(settings.environment(passing: ["PATH", "LANG", "HOME"]) == ["LANG=C", "PATH=/bin"])
        #expect(settings.variables(withheldBy: ["PATH", "LANG"]) == ["SATCHEL_MASTER_KEY", "ERP_KEY"])
    }

    /// A second parser would have other ranges, other rules for empty values and other error texts.
    @Test func onlyProcessKitReadsTheEnvironment() throws {
        for folder in ["Services", "Shared"] {
            let root = "\(checkoutDirectory)/\(folder)"
            let files = try #require(FileManager.default.enumerator(atPath: root))
            var count = 0
            for case let file as String in files where file.hasSuffix(".swift") && !file.hasPrefix("ProcessKit/") {
                let text = try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
                for reading in ["processInfo.environment", "getenv("] {
                    #expect(!text.contains(reading), "\(folder)/\(file) has \(reading)")
                }
                count += 1
            }
            #expect(count > 50, "The sources are where this test looks.")
        }
    }
}
