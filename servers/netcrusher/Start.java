import java.io.InputStream;
import org.netcrusher.tcp.main.TcpCrusherMain;

/**
 * Starts the published program, which would end with its standard input: this one never says anything, nor ends. And where the
 * program would go on without the one thread that relays, since that found no memory, it ends.
 */
public final class Start {
  public static void main(String[] arguments) throws Exception {
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, error) -> {
          error.printStackTrace();
          Runtime.getRuntime().halt(1);
        });
    System.setIn(
        new InputStream() {
          @Override
          public synchronized int read() {
            while (true) {
              try {
                wait();
              } catch (InterruptedException error) {
                return -1;
              }
            }
          }
        });
    TcpCrusherMain.main(arguments);
  }
}
