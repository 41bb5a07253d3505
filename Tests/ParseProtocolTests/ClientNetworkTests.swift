import ParseProtocol
import Testing

/// The networks by which clients are counted.
@Suite struct ClientNetworkTests {
    @Test func theWideNetworkIsThe24OrThe48() {
        let near = ClientNetwork("cb007107")
        #expect(near != ClientNetwork("cb007108"))
        #expect(near.wide == ClientNetwork("cb007108").wide)
        #expect(near.wide != ClientNetwork("cb007207").wide)
        let six = ClientNetwork("20010db8000a0001")
        #expect(six.near != ClientNetwork("20010db8000a0002").near)
        #expect(six.wide == ClientNetwork("20010db8000affff").wide)
        #expect(six.wide != ClientNetwork("20010db8000b0001").wide)
        #expect(ClientNetwork("00000000cb007107") != near, "An IPv6 network with the same digits is another one.")
        #expect(ClientNetwork("") == ClientNetwork(""))
        #expect(ClientNetwork("") != near)
    }

    @Test func amountsHaveALimitAtBothLevels() {
        var amounts = NetworkAmounts(nearLimit: 10, total: 100)
        func take(_ count: Int, _ name: String) -> Bool {
            guard amounts.hasRoom(for: count, ClientNetwork(name)) else { return false }
            amounts.add(count, of: ClientNetwork(name))
            return true
        }
        #expect(take(10, "cb007101"))
        #expect(!take(1, "cb007101"))
        #expect((2...4).allSatisfy { take(10, "cb00710\($0)") })
        #expect(!take(1, "cb007105"), "Four times the limit of an address.")
        #expect(amounts.amount(of: ClientNetwork("cb007105")) == 10)
        #expect(take(10, "cb007205"))
        amounts.add(-10, of: ClientNetwork("cb007101"))
        #expect(take(10, "cb007105"))
        #expect(!amounts.hasRoom(ClientNetwork("cb007101")))
    }

    @Test func theUseOfAWideNetworkCountsAQuarter() {
        var use = NetworkUse()
        for address in 1...8 { use.add(1000, to: ClientNetwork("cb00710\(address)"), at: 0) }
        #expect(use.amount(of: ClientNetwork("cb007101"), at: 0) == 2000)
        #expect(use.amount(of: ClientNetwork("cb0071ff"), at: 0) == 2000)
        #expect(use.amount(of: ClientNetwork("cb007201"), at: 0) == 0)
    }
}
