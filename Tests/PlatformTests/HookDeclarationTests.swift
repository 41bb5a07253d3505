import Messages
import ParseProtocol
import Platform
import Testing

/// Declarations of webhooks by operators.
@Suite struct HookDeclarationTests {
    @Test(arguments: ["shop-prices", "shop.prices", "shop_prices", "a", "v2.item-count"])
    func aFunctionsNameHasTheMarksOfParseServer(_ name: String) throws {
        let hook = Hook.with {
            $0.functionName = name
            $0.url = "https://hooks.example/"
        }
        #expect(try HookDeclaration(hook).name == name)
    }

    @Test(arguments: [
        "a..b", ".a", "a.", "a b", "-a", "__proto__", "a.__proto__", "constructor", "a.constructor", "a/b", "ä",
        String(repeating: "a", count: 129),
    ])
    func aFunctionsNameIsNoneOfJavaScripts(_ name: String) {
        let hook = Hook.with {
            $0.functionName = name
            $0.url = "https://hooks.example/"
        }
        #expect(throws: ParseError.self) { try HookDeclaration(hook) }
    }

    @Test(arguments: ["beforeLogin", "afterLogin", "beforePasswordResetRequest"])
    func triggersOfAccountsAreOfUsersAlone(_ trigger: String) throws {
        var hook = Hook.with {
            $0.triggerName = trigger
            $0.className = "_User"
            $0.url = "https://hooks.example/"
        }
        #expect(try HookDeclaration(hook).name == trigger)
        hook.className = "Note"
        #expect(throws: ParseError.self) { try HookDeclaration(hook) }
    }
}
