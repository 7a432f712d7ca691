import org.apache.zookeeper.KeeperException;

/** Prints, for each code of the zookeeper jar that has an exception: code, class, message. */
public class KeeperExceptions {
    public static void main(String[] args) {
        for (KeeperException.Code code : KeeperException.Code.values()) {
            try {
                KeeperException exception = KeeperException.create(code);
                System.out.println(code.intValue() + " " + exception.getClass().getName() + " " + exception.getMessage());
            } catch (IllegalArgumentException none) {
                // OK, and codes that the server keeps to itself, have no exception
            }
        }
    }
}
